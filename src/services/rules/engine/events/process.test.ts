/** Tests how many nodes must die while they run an event before the event becomes a dead letter. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesServices } from '../../../../../test/harness/rules.ts'
import { migratedDatabase } from '../../../../../test/harness/test-platform.ts'
import { createDb } from '../../../../kernel/db.ts'
import { createMetrics } from '../../../../kernel/metrics.ts'
import type { LinkedRule } from '../../definitions/store/load.ts'
import type { LedgerEntry } from '../ledger.ts'
import { insertEvents, takeOver } from '../store/events.ts'
import { createProcessor, type ProcessDeps } from './process.ts'
import type { StoredRow } from './recorder.ts'
import type { RuleEvent } from './rule-event.ts'

test('an event that five nodes have started and not ended becomes a dead letter; a takeover without a start does not count', async () => {
  const db = createDb(await migratedDatabase(rulesServices), { max: 2 })
  const event: RuleEvent = {
    type: 'cron',
    eventId: crypto.randomUUID(),
    at: 0,
    triggerId: crypto.randomUUID(),
    payload: {},
  }
  const rule = {
    id: crypto.randomUUID(),
    tenantId: 'acme',
    state: 'ENABLED',
    version: 1,
    triggerIds: [event.triggerId],
  } as LinkedRule
  const trigger = { id: event.triggerId!, tenantId: 'acme', type: 'cron' as const, name: 't', fields: {} }
  const entries: LedgerEntry[] = []
  let runs = 0
  const processor = createProcessor({
    kit: { db, now: () => new Date(), metrics: createMetrics(), stopping: new AbortController().signal },
    library: {
      current: () => undefined,
      rule: () => rule,
      index: { match: () => [{ trigger, ruleIds: [rule.id] }] },
    },
    ledger: { write: async (entry: LedgerEntry) => void entries.push(entry) },
    run: async () => {
      runs++
      return { isSuccess: true, returned: '', traces: [], pending: [], unsettled: [], effects: [] }
    },
  } as unknown as ProcessDeps)
  const [id] = await insertEvents(db.sql, 'node-0', [{ tenantId: 'acme', buckets: [], content: '[]' }])
  for (let n = 0; n < 8; n++) assert.deepEqual(await takeOver(db.sql, `node-${n}`, `node-${n + 1}`), ['acme'])
  // Each start gets a new object for the same row, as on another node.
  const start = () => {
    const row: StoredRow = { id: id!, tenantId: 'acme', events: [event, event], bytes: 1, isTakenOver: true }
    return Promise.all(row.events.map((one) => processor.run(row, one)))
  }
  const deadLetters = () => entries.flatMap(({ deadLetters = [] }) => deadLetters)
  for (let n = 0; n < 4; n++) await start()
  assert.deepEqual([runs, deadLetters()], [8, []])
  await start()
  assert.deepEqual(
    deadLetters().map(({ reason }) => reason),
    Array(2).fill('the process that ran the event died 5 times'),
  )
  assert.equal(runs, 8)
  await db.close()
})
