/** Large requests of one caller must not stop the process for others: the event loop is never blocked for long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFixtures } from '../harness/gateway.ts'
import { startPlatform } from '../harness/platform.ts'

const platform = await startPlatform({
  environment: { WAYPOST_SERIES_PER_APPLICATION: '100000', WAYPOST_LOG_LEVEL: 'error' },
})
const { baseUrl, managementUrl } = platform
const ask = await platform.asService(platform.bootstrap.default)
const { aProvisionedEndpoint } = createFixtures(ask)
/** Longest acceptable stall. The machine of the test may be busy, so a stall counts only if it comes again. */
const stallMaxMs = 200
const attempts = 3

/** Returns the longest delay of the event loop since the last call; reading it resets it. */
async function longestStallMs(): Promise<number> {
  const text = await (await fetch(`${managementUrl}/metrics`)).text()
  return Number(/^waypost_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000
}

/** Runs work several times and returns the shortest of its longest stalls. */
async function stallDuring(work: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && least > stallMaxMs; attempt++) {
    await longestStallMs()
    await work()
    least = Math.min(least, await longestStallMs())
  }
  return least
}

async function requireNoStall(name: string, work: () => Promise<void>) {
  const ms = await stallDuring(work)
  assert.ok(ms <= stallMaxMs, `${name} stopped the event loop for ${Math.round(ms)} ms`)
}

const { app, version, endpointId, token } = await aProvisionedEndpoint()
const send = (body: unknown, to = `${version}/dcx/${token}`) =>
  fetch(`${baseUrl}/kp1/${to}/json`, { method: 'POST', body: JSON.stringify(body) })

test('a message with many new field names', async () => {
  let round = 0
  const sendNames = async (count: number, status: number) => {
    const fresh = await aProvisionedEndpoint()
    const prefix = String.fromCharCode(97 + round++)
    const sample = Object.fromEntries(Array.from({ length: count }, (_, n) => [prefix + n.toString(36), 1]))
    const answer = await send(sample, `${fresh.version}/dcx/${fresh.token}`)
    assert.equal(answer.status, status, await answer.text())
  }
  // The cost of a message is limited (kernel/http/json-scan.ts).
  await requireNoStall('90,000 names', () => sendNames(90_000, 400))
  await requireNoStall('22,000 names', () => sendNames(22_000, 200))
})

test('a CSV export of many points', async () => {
  const pointsPerMessage = 10_000
  for (let message = 0; message < 60; message++) {
    const from = Date.UTC(2026, 0, 1) + message * pointsPerMessage * 1000
    const points = Array.from({ length: pointsPerMessage }, (_, n) => ({
      timestamp: from + n * 1000,
      values: { value: n / 7, other: `text ${n}` },
    }))
    for (let part = 0; part < points.length; part += 2500) {
      const body = { [endpointId]: { exported: points.slice(part, part + 2500) } }
      const answer = await ask(`PUT /epts/api/v1/app-versions/${version}/time-series/data`, body)
      assert.equal(answer.status, 204, answer.text)
    }
  }
  const query = 'timeSeriesName=exported&fromDate=2026-01-01T00:00:00Z&toDate=2026-03-01T00:00:00Z'
  for (const accept of ['text/csv', 'application/json'])
    await requireNoStall(accept, async () => {
      const url = `${baseUrl}/epts/api/v1/applications/${app}/time-series/data?${query}`
      const response = await fetch(url, {
        headers: { accept, ...(await platform.authorizationOf(platform.bootstrap.default)) },
      })
      assert.equal(response.status, 200)
      let bytes = 0
      for await (const piece of response.body!) bytes += piece.length
      assert.ok(bytes > 20_000_000, String(bytes))
    })
})

test('large JSON patches', async () => {
  const type = await ask('POST /am/api/v1/asset-types', {
    displayName: 'Thing',
    definitionJsonSchema: '{"type":"object"}',
  })
  const asset = await ask('POST /am/api/v1/assets', { assetTypeId: type.body.id, definition: '{}' })
  assert.equal(asset.status, 201, asset.text)
  const list = [{ op: 'add', path: '/a', value: [] }]
  const repeated = (operation: object, count: number) => Array.from({ length: count }, () => operation)
  const patches: Record<string, unknown[]> = {
    'insertions at the front': [...list, ...repeated({ op: 'add', path: '/a/0', value: 0 }, 18_000)],
    'a list whose items are moved many times': [
      ...list,
      ...repeated({ op: 'add', path: '/a/-', value: 0 }, 6000),
      ...repeated({ op: 'move', from: '/a/0', path: '/a/-' }, 9000),
    ],
  }
  for (const [name, operations] of Object.entries(patches))
    await requireNoStall(name, async () => {
      const answer = await ask(`PATCH /am/api/v1/assets/${asset.body.id}`, operations)
      assert.ok([204, 400].includes(answer.status), answer.text)
    })
})
