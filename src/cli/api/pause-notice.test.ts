import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createClient } from '../../../sdk/src/index.ts'
import { noticePause } from './pause-notice.ts'

test('a command says that it pauses because of Retry-After, and a short pause is not mentioned', async () => {
  let requests = 0
  const server = createServer((_, response) => {
    const isFirst = requests++ === 0
    response.writeHead(isFirst ? 429 : 200, {
      'content-type': 'application/json',
      ...(isFirst && { 'retry-after': '2' }),
    })
    response.end('{}')
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const written: string[] = []
  const { port } = server.address() as AddressInfo
  const client = createClient({
    url: `http://127.0.0.1:${port}`,
    onRetry: (error, pauseMs) => noticePause(error, pauseMs, (text) => written.push(text)),
  })
  await client.endpoints.get({ endpointId: 'e' })
  server.close()
  assert.deepEqual(written, ['waypost: the platform answered 429; the command tries again in 3 s\n'])
  noticePause({ status: 503 }, 1999, () => assert.fail('a short pause is not mentioned'))
})
