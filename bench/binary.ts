/** Measures uploads and downloads: one content of 1 GB, with the additional memory that it takes, and many small contents. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { client, tokenOf } from '../test/harness/client.ts'
import { uploadTokenOf } from '../test/harness/upload-token.ts'
import { removeDirectory, startPlatform, temporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const root = '/bcx/api/v1'
const megabyte = 1_000_000
const large = 1000 * megabyte
const piece = Buffer.alloc(64 * 1024, 7)
const small = Buffer.alloc(10_000, 7)
const smallSeconds = 5
const concurrency = 16

export async function binary(): Promise<Figure[]> {
  const directory = temporaryDirectory()
  const platform = await startPlatform(directory)
  const { id, secret } = platform.bootstrap.default.backendClient
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  const authorization = `Bearer ${await tokenOf(platform.baseUrl, 'default', grant)}`
  const ask = client(platform.baseUrl, { authorization })
  await ask('POST /api/v1/applications', { name: 'camera' })
  await ask('POST /api/v1/applications/camera/app-versions', { nameSuffix: 'v1' })
  const { body } = await ask('POST /epr/api/v1/endpoints', { appVersion: { name: 'camera-v1' }, endpointId: 'ep-1' })
  const token = await uploadTokenOf(platform.baseUrl, { version: 'camera-v1', token: body.token })
  const agent = new Agent({ keepAlive: true })
  const post = (path: string) =>
    request(platform.baseUrl + root + path, { method: 'POST', agent, headers: { 'x-auth-token': token } })
  const waitForEnd = async (outgoing: ReturnType<typeof post>) => {
    const [incoming] = await once(outgoing, 'response')
    incoming.resume()
    await once(incoming, 'end')
    if (incoming.statusCode >= 300) throw new Error(`answered ${incoming.statusCode}`)
  }

  // This upload warms up the platform, so that the measured memory does not include compiled code and caches.
  const warm = post('/binary-data')
  warm.end(Buffer.alloc(100 * megabyte))
  await waitForEnd(warm)
  const before = platform.memoryMb()
  let highestMb = 0
  const watch = setInterval(() => (highestMb = Math.max(highestMb, platform.memoryMb())), 200)

  let began = performance.now()
  const upload = post('/files/large')
  const done = waitForEnd(upload)
  for (let sent = 0; sent < large; sent += piece.length) if (!upload.write(piece)) await once(upload, 'drain')
  upload.end()
  await done
  const uploadSeconds = (performance.now() - began) / 1000

  began = performance.now()
  const file = `${platform.baseUrl}${root}/applications/camera/endpoints/ep-1/files/large`
  const answer = await fetch(file, { headers: { authorization } })
  const hash = createHash('sha256')
  for await (const bytes of answer.body!) hash.update(bytes)
  const downloadSeconds = (performance.now() - began) / 1000
  if (answer.headers.get('etag') !== `"${hash.digest('hex')}"`) throw new Error('the downloaded content differs')
  clearInterval(watch)

  let count = 0
  const until = performance.now() + smallSeconds * 1000
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < until) {
        const outgoing = post('/binary-data')
        outgoing.end(small)
        await waitForEnd(outgoing)
        count++
      }
    }),
  )
  agent.destroy()
  await platform.stop()
  removeDirectory(directory)
  return [
    { name: 'Upload of 1 GB, durable', value: large / megabyte / uploadSeconds, unit: 'MB/s' },
    { name: 'Download of 1 GB', value: large / megabyte / downloadSeconds, unit: 'MB/s' },
    { name: 'Highest additional memory (PSS)', value: highestMb - before, unit: 'MB', limit: { max: 80 } },
    { name: 'Uploads of 10 kB, 16 at the same time, each durable', value: count / smallSeconds, unit: '/s' },
  ]
}
