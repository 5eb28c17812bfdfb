/** Measures many devices that download a software file at the same time, compared with a file of the binary data service. */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { client } from '../../test/harness/client.ts'
import { uploadTokenOf } from '../../test/harness/upload-token.ts'
import type { BenchPlatform } from '../register/bench-platform.ts'
import { type Figure, median } from '../report.ts'
import { expectStatus } from './expect-status.ts'

const megabyte = 1_000_000
const fileBytes = Number(process.env.BENCH_MEGABYTES ?? 100) * megabyte
const devices = 50
const rounds = 4
const software = '/otao/api/v1/applications/camera/software'

export async function downloads(bench: BenchPlatform): Promise<Figure[]> {
  const { ask, platform, token } = bench
  const { baseUrl } = platform
  await expectStatus(ask, 201, 'POST /api/v1/applications', { name: 'camera' })
  await expectStatus(ask, 201, 'POST /api/v1/applications/camera/app-versions', { nameSuffix: 'v1' })
  await expectStatus(ask, 201, `POST ${software}/1.0.0`, { rolloutStrategy: 'general' })
  await expectStatus(ask, 201, `POST ${software}/2.0.0`, { rolloutStrategy: 'general', upgradableFrom: ['1.0.0'] })
  const content = Buffer.alloc(fileBytes, 7)
  await expectStatus(ask, 204, `PUT ${software}/2.0.0/file?filename=firmware.bin`, content)
  const links: string[] = []
  for (let n = 0; n < devices; n++) links.push(await linkOf(bench, n))
  const { token: deviceToken } = await register(bench, 'uploader')
  const uploadToken = await uploadTokenOf(baseUrl, { version: 'camera-v1', token: deviceToken })
  await expectStatus(client(baseUrl, { 'x-auth-token': uploadToken }), 204, 'POST /bcx/api/v1/files/large', content)
  const file = `${baseUrl}/bcx/api/v1/applications/camera/endpoints/uploader/files/large`

  const agent = new Agent({ keepAlive: true })
  const ofSoftware: number[] = []
  const ofBinaryData: number[] = []
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    const authorization = `Bearer ${await token()}`
    const binary = () => rateOf(links.map(() => download(agent, file, { authorization })))
    const firmware = () => rateOf(links.map((link) => download(agent, link, {})))
    // The order alternates, so that neither of the two always runs first.
    const [one, other] =
      round % 2 === 0 ? [await binary(), await firmware()] : [await firmware(), await binary()].reverse()
    if (round === 0) continue
    ofBinaryData.push(one!)
    ofSoftware.push(other!)
  }
  agent.destroy()
  const ratio = median(ofSoftware) / median(ofBinaryData)
  const name = `download of ${fileBytes / megabyte} MB by ${devices} devices at the same time`
  return [
    { name: `${name}, software`, value: median(ofSoftware), unit: 'MB/s' },
    { name: `${name}, binary data`, value: median(ofBinaryData), unit: 'MB/s' },
    { name: '… software against binary data', value: ratio, unit: 'times', limit: { min: 0.8 } },
  ]
}

const register = ({ ask }: BenchPlatform, endpointId: string): Promise<{ token: string }> =>
  expectStatus(ask, 201, 'POST /epr/api/v1/endpoints', { appVersion: { name: 'camera-v1' }, endpointId })

/** Registers a device that runs 1.0.0, and returns the link that it gets for 2.0.0. */
async function linkOf(bench: BenchPlatform, n: number): Promise<string> {
  const { baseUrl } = bench.platform
  const { token } = await register(bench, `device-${n}`)
  const sendAsDevice = async (path: string, payload: object) => {
    const url = `${baseUrl}/kp1/camera-v1/cmx_ota/${token}${path}`
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(payload) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
    return text
  }
  await sendAsDevice('/applied/json', { configId: '1.0.0' })
  const { pathname, search } = new URL(JSON.parse(await sendAsDevice('/config/json', {})).config.link)
  return baseUrl + pathname + search
}

/** Returns the megabytes per second of downloads that run at the same time. */
async function rateOf(running: Promise<void>[]): Promise<number> {
  const began = performance.now()
  await Promise.all(running)
  return (running.length * fileBytes) / megabyte / ((performance.now() - began) / 1000)
}

async function download(agent: Agent, url: string, headers: Record<string, string>): Promise<void> {
  const [incoming] = await once(get(url, { agent, headers }), 'response')
  let received = 0
  incoming.on('data', (bytes: Buffer) => (received += bytes.length))
  await once(incoming, 'end')
  if (incoming.statusCode !== 200 || received !== fileBytes)
    throw new Error(`${incoming.statusCode}, ${received} bytes`)
}
