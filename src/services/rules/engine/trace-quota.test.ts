/** Tests that traces count towards the quota of bytes of their tenant, and that above the quota only their results are stored. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openRules } from '../../../../test/harness/rules.ts'
import { createMetrics } from '../../../kernel/metrics.ts'
import { createLedger } from './ledger.ts'
import { createTracePartitions } from './partitions.ts'
import type { NewTrace } from './traces.ts'

const { kit } = (await openRules()).waypost
await createTracePartitions(kit, 7).prepare()

function aTrace(tenantId: string): NewTrace {
  return {
    id: randomUUID(),
    traceId: randomUUID(),
    tenantId,
    entityType: 'RULE',
    entityId: randomUUID(),
    raisedOn: { entityType: 'ENDPOINT', entityId: 'e' },
    outcome: 'FAILURE',
    stage: 'EXPRESSION_EVALUATION',
    reason: 'r'.repeat(5000),
    metadata: { ruleVersion: 3, triggerId: 't', eventId: 'v', durationMs: 4, log: ['x'.repeat(60_000)] },
    durationMs: 4,
    event: `{"trigger":"${'e'.repeat(30_000)}"}`,
  }
}

test('traces count towards the quota, and above the quota they are stored without log, event and long reason', async () => {
  let left = 150_000
  const counted: number[] = []
  const quota = {
    allowsDetails(_tenantId: string, kind: string, bytes: number) {
      assert.equal(kind, 'traces')
      if (left <= 0) return false
      left -= bytes
      counted.push(bytes)
      return true
    },
  }
  const ledger = createLedger({ ...kit, metrics: createMetrics(), quota })
  const traces = [1, 2, 3].map(() => aTrace('default'))
  await ledger.write({ traces })
  const rows = await kit.db.sql<{ id: string; reason: string; metadata: object; event: string | null }[]>`
    select id, reason, metadata::text::jsonb as metadata, event from rules.traces order by created_at`
  assert.deepEqual(
    rows.map(({ id }) => id),
    traces.map(({ id }) => id),
  )
  assert.equal(counted.length, 2)
  assert.ok(
    counted.every((bytes) => bytes > 95_000 && bytes < 96_000),
    String(counted),
  )
  for (const row of rows.slice(0, 2)) {
    assert.deepEqual(row.metadata, traces[0]!.metadata)
    assert.equal(row.event, traces[0]!.event)
  }
  const [, , short] = rows
  assert.deepEqual(short!.metadata, { ruleVersion: 3, triggerId: 't', eventId: 'v', durationMs: 4, shortened: true })
  assert.deepEqual([short!.reason.length, short!.event], [200, null])
})
