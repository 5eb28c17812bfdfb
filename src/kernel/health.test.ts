import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { openManagement } from './health.ts'

const management = await openManagement(0)
afterAllTests(() => management.close())

const statusWith = (host: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(`${management.url}/health/live`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })

test('a request whose Host header names this machine is answered', async () => {
  const { port } = new URL(management.url)
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '127.1.2.3', `[::1]:${port}`, 'LOCALHOST'])
    assert.equal(await statusWith(host), 200, host)
})

test('a request with any other Host header is rejected, to prevent DNS rebinding', async () => {
  const { port } = new URL(management.url)
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '192.0.2.7',
    '[::2]',
  ])
    assert.equal(await statusWith(host), 403, host)
})
