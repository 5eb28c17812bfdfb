import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { createArrivalTimes } from './arrival-times.ts'
import { createRows } from './rows.ts'
import { createTimeConflicts } from './time-conflicts.ts'

const origin = { tenantId: 'default', applicationName: 'app', versionName: 'app-v1', endpointId: 'ep-1' }

function aStampedSample() {
  const rows = createRows(10)
  rows.add(1, Date.now(), true, [{ setId: 1, seriesIds: [1] }], [21], origin)
  return rows
}

for (const isAlone of [true, false])
  test(`after a slot change, a node ${isAlone ? 'looks up no stored times if no other node is alive' : 'looks up stored times if other nodes are alive'}`, async () => {
    const conflicts = createTimeConflicts(createArrivalTimes(), { newSlotMs: 30, isAlone: () => isAlone })
    const rows = aStampedSample()
    assert.equal(
      conflicts.needLookup(rows, 1),
      true,
      'the first slot of a process may have times from before a restart',
    )
    await eventually(() => assert.equal(conflicts.needLookup(rows, 1), false))
    assert.equal(conflicts.needLookup(rows, 2), !isAlone)
  })

test('if a slot is replaced while stored times are still looked up for it, they are also looked up for the next slot', () => {
  const conflicts = createTimeConflicts(createArrivalTimes(), { newSlotMs: 60_000, isAlone: () => true })
  const rows = aStampedSample()
  assert.equal(conflicts.needLookup(rows, 1), true)
  assert.equal(conflicts.needLookup(rows, 2), true)
})
