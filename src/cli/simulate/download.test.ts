import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { download } from './download.ts'

const content = Buffer.alloc(200_000, 'firmware')
const digest = `sha-256=:${createHash('sha256').update(content).digest('base64')}:`
const never = new AbortController().signal

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`
}

/** Serves the content from the requested byte on. The first `times` connections break some time after 20,000 bytes. */
const breaking =
  (times: number, ranges: (string | undefined)[], afterMs = 300): RequestListener =>
  ({ headers }, response) => {
    ranges.push(headers.range)
    const from = Number(headers.range?.match(/^bytes=(\d+)-$/)?.[1] ?? 0)
    const rest = content.subarray(from)
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, 'repr-digest': digest })
    if (ranges.length > times) response.end(rest)
    else response.write(rest.subarray(0, 20_000), () => setTimeout(() => response.destroy(), afterMs))
  }

test('a broken download continues where it ended', async (t) => {
  const ranges: (string | undefined)[] = []
  await download(await serve(t, breaking(2, ranges)), never)
  assert.deepEqual(ranges, [undefined, 'bytes=20000-', 'bytes=40000-'])
})

test('a download that breaks again and again fails', async (t) => {
  const ranges: (string | undefined)[] = []
  await assert.rejects(download(await serve(t, breaking(Number.POSITIVE_INFINITY, ranges, 10)), never))
  assert.equal(ranges.length, 5)
})

test('a download fails if the link is rejected, the content is wrong, or the server ignores the range', async (t) => {
  const refused = await serve(t, (_, response) => void response.writeHead(403).end('{}'))
  await assert.rejects(download(refused, never), /answered with 403/)
  const other = await serve(t, (_, response) => void response.writeHead(200, { 'repr-digest': digest }).end('other'))
  await assert.rejects(download(other, never), /does not match its digest/)
  const ranges: (string | undefined)[] = []
  const broken = breaking(1, ranges)
  const ignoring = await serve(t, (request, response) => {
    delete request.headers.range
    broken(request, response)
  })
  await assert.rejects(download(ignoring, never), /answered with 200/)
})

test('a download ends when it is aborted', async (t) => {
  const silent = await serve(t, (_, response) => void response.writeHead(200).write('a'))
  const aborting = new AbortController()
  setTimeout(() => aborting.abort(), 100)
  await assert.rejects(download(silent, aborting.signal), { name: 'AbortError' })
})
