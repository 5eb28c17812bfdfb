import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { afterAllTests } from '../../../test/harness/database.ts'
import { sleep } from '../clock.ts'
import { sendSlices } from './send.ts'

const bytes = Buffer.alloc(64 * 1024 * 1024, 'x')
const app = fastify()
let response: ServerResponse | undefined
app.get('/', (_, reply) => {
  response = reply.raw
  return sendSlices(reply as never, bytes)
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
afterAllTests(() => app.close())

test('a response from a buffer that many responses share occupies little memory while the client does not read it', {
  timeout: 30_000,
}, async () => {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  // The response stops when the buffers of the connection are full.
  let sent = -1
  while (response === undefined || response.socket?.bytesWritten !== sent) {
    sent = response?.socket?.bytesWritten ?? -1
    await sleep(100)
  }
  assert.ok(sent < bytes.length, `${sent} bytes`)
  assert.ok(response.writableLength < 1024 * 1024, `${response.writableLength} bytes are buffered`)
  socket.destroy()
})

test('a response from a shared buffer arrives completely, with its length', { timeout: 30_000 }, async () => {
  const answer = await fetch(url)
  assert.equal(answer.headers.get('content-length'), String(bytes.length))
  assert.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())))
  const head = await fetch(url, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(bytes.length)])
})
