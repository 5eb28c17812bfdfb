import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'

const { http } = await openTestPlatform({ services: [] })
await http.listen({ host: '127.0.0.1', port: 0 })
const { port } = http.app.server.address() as AddressInfo

/** Sends these bytes, and returns the status and the JSON of the answer, after which the connection is closed. */
async function answerTo(bytes: string) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(bytes)
  const [head, body] = (await text(socket)).split('\r\n\r\n') as [string, string]
  assert.match(head, /\r\ncontent-type: application\/json; charset=utf-8\r\n/)
  return [Number(head.split(' ')[1]), JSON.parse(body)]
}

test('a request that is not valid HTTP gets 400 with what is wrong', async () => {
  assert.deepEqual(await answerTo('nonsense\r\n\r\n'), [
    400,
    { message: 'the request is not valid HTTP: Invalid method encountered' },
  ])
  const twoLengths = 'Content-Length: 2\r\nTransfer-Encoding: chunked'
  const [status, { message }] = await answerTo(`POST /x HTTP/1.1\r\nHost: x\r\n${twoLengths}\r\n\r\n{}`)
  assert.equal(status, 400)
  assert.match(message, /^the request is not valid HTTP: .*Transfer-Encoding/)
})

test('a request with too many bytes of header fields gets 431 with the limit', async () => {
  assert.deepEqual(await answerTo(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`), [
    431,
    { message: 'the first line and the header fields of the request have more than 16384 bytes' },
  ])
})
