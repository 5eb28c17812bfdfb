import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noProxy } from '../client-address.ts'
import { createFileDescriptors } from '../file-descriptors.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpServer } from './server.ts'

test('the request rate per address counts an IPv6 /64 as one address, and IPv4 addresses individually', async () => {
  const log = await createLog({ level: 'silent', format: 'json' })
  const metrics = createMetrics()
  const { app } = createHttpServer({
    baseUrl: () => '',
    log,
    metrics,
    authenticate: async () => undefined,
    callerWithoutAuthentication: () => undefined,
    // The limit allows a burst of one request, and then one request every two seconds.
    rateLimit: { perCredential: 0, perAddress: 0.5 },
    trustProxy: noProxy,
    connections: {
      share: createFileDescriptors({ limit: 1024, log, metrics }).http,
      perAddress: 1,
      acceptFailed: () => {},
    },
  })
  const status = async (remoteAddress: string) => (await app.inject({ url: '/nowhere', remoteAddress })).statusCode
  assert.equal(await status('2001:db8:1:2::1'), 404)
  const limited = await app.inject({ url: '/nowhere', remoteAddress: '2001:db8:1:2:3:4:5:6' })
  assert.equal(limited.statusCode, 429)
  assert.match(limited.headers['retry-after'] as string, /^[12]$/)
  assert.equal(await status('2001:db8:1:3::1'), 404)
  assert.deepEqual([await status('192.0.2.1'), await status('192.0.2.2')], [404, 404])
  assert.equal(await status('::ffff:192.0.2.1'), 429)
  await app.close()
})
