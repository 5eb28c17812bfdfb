import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bearer, client, tokenOf } from '../../../test/harness/client.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openInProcessPlatform } from '../../../test/harness/in-process-platform.ts'

const { ask, baseUrl, directory, waypost } = await openInProcessPlatform({
  WAYPOST_LOG_LEVEL: 'fatal',
  WAYPOST_RATE_LIMIT_PER_TENANT: '1000',
})
const bootstrap = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
const backend = async (realm: 'default' | 'platform') => {
  const { id, secret } = bootstrap[realm].backendClient
  const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  return client(baseUrl, bearer(await tokenOf(baseUrl, realm, grant)))
}
const platform = await backend('platform')
const path = '/api/v1/applications?limit=1'

/** Gives the tenant `default` a package with this rate, and waits until it applies. */
async function limitDefault(requestsPerSecond: number) {
  const name = `rate-${requestsPerSecond}`
  const created = await platform('POST /tenant-manager/api/v1/packages-types', {
    name,
    requests_per_second: requestsPerSecond,
  })
  assert.equal(created.status, 201, created.text)
  const changed = await platform('PUT /tenant-manager/api/v1/tenants/default', { package_type: created.body.id })
  assert.equal(changed.status, 200, changed.text)
  await eventually(() => assert.equal(waypost.kit.tenantLimits.get('default').requestsPerSecond, requestsPerSecond))
}

test('a tenant above the rate of its package gets 429 with Retry-After for all of its credentials; other tenants and the health check do not', async () => {
  await limitDefault(20)
  const key = await ask('POST /iam/api/v1/api-keys', { name: 'second' })
  assert.equal(key.status, 201, key.text)
  const second = client(baseUrl, { 'x-identity-api-key': key.body.key })
  const answers = await Promise.all(Array.from({ length: 150 }, (_, n) => (n % 2 ? ask : second)(`GET ${path}`)))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 60, `at least 60 of 150 requests must get 429, and ${refused.length} did`)
  assert.ok(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1))
  assert.ok(refused.every(({ body }) => /Too many requests/.test(body.message)))
  assert.ok(answers.filter((_, n) => n % 2 === 0).some(({ status }) => status === 429))
  assert.equal((await platform(`GET /api/v1/tenants/default`)).status, 200)
  assert.equal((await fetch(`${baseUrl}/health`)).status < 500, true)
  assert.match(await waypost.kit.metrics.text(), /waypost_http_rate_limited_total\{limit="tenant"\} \d+/)
  await eventually(async () => assert.equal((await ask(`GET ${path}`)).status, 200))
})

test('while one tenant sends a flood, only requests within its rate are served, and requests of another tenant are served in time', async () => {
  await limitDefault(50)
  const p90Of = async () => {
    const times: number[] = []
    for (let i = 0; i < 60; i++) {
      const started = performance.now()
      assert.equal((await platform('GET /api/v1/tenants/default')).status, 200)
      times.push(performance.now() - started)
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length * 0.9)]!
  }
  await p90Of()
  const unloaded = await p90Of()
  let flooding = true
  const statuses = new Map<number, number>()
  const flood = Array.from({ length: 8 }, async () => {
    while (flooding) {
      const { status } = await ask(`GET ${path}`)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const started = performance.now()
  const flooded = await p90Of()
  flooding = false
  await Promise.all(flood)
  const seconds = (performance.now() - started) / 1000
  // The limit allows 50 requests a second, and bursts of 100.
  const served = statuses.get(200) ?? 0
  assert.ok(served <= 110 + 50 * seconds, `${served} requests were served in ${seconds} s`)
  assert.ok((statuses.get(429) ?? 0) > 0, JSON.stringify([...statuses]))
  // Client and server share this process, so the flood of requests itself takes time. Without the limit, the ratio is about 10.
  assert.ok(flooded < Math.max(10 * unloaded, 500), `${flooded} ms, unloaded ${unloaded} ms`)
})
