import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPlatform } from '../harness/platform.ts'
import { callThroughProxy } from './sdk.ts'

test('with a proxy that breaks connections, no read fails, and no write happens twice', async () => {
  const { baseUrl, bootstrap } = await startPlatform()
  const { tenantId, backendClient } = bootstrap.default
  const auth = { tenant: tenantId, clientId: backendClient.id, clientSecret: backendClient.secret }
  const { failedReads, doubleWrites, reads, writes, disturbances } = await callThroughProxy(baseUrl, auth, 50, 1)
  assert.deepEqual([failedReads, doubleWrites], [0, 0])
  assert.ok(
    reads > 20 && writes > 50,
    `expected more than 20 reads and 50 writes; got ${reads} reads and ${writes} writes`,
  )
  assert.ok(Object.keys(disturbances).length >= 6, JSON.stringify(disturbances))
})
