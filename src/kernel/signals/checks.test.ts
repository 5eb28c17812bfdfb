import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { kernelDatabase } from '../../../test/harness/nodes.ts'
import { createDb } from '../db.ts'
import { createLog } from '../log.ts'
import { createChecks } from './checks.ts'

test('all checks share one statement, and a node that is alone runs only the checks that it needs', async (t) => {
  const db = createDb(await kernelDatabase(t), { max: 1 })
  const log = await createLog({ level: 'silent', format: 'json' })
  let isAlone = false
  const checks = createChecks({ db, members: { isAlone: () => isAlone }, log })
  t.after(async () => {
    await checks.stop()
    await db.close()
  })
  const values: Record<string, unknown[]> = { always: [], amongNodes: [] }
  checks.declare({
    name: 'always',
    expression: (sql) => sql`array[pg_current_xact_id()::text]`,
    handle: (value) => void values.always!.push(value),
    aloneMs: 0,
  })
  checks.declare({
    name: 'among nodes',
    expression: (sql) => sql`array[pg_current_xact_id()::text]`,
    handle: (value) => void values.amongNodes!.push(value),
  })
  checks.start()
  await eventually(() => assert.ok(values.amongNodes!.length >= 2))
  assert.deepEqual(values.always, values.amongNodes)
  isAlone = true
  const { length } = values.amongNodes!
  await eventually(() => assert.ok(values.always!.length >= length + 2))
  assert.ok(values.amongNodes!.length <= length + 1, 'only the check that was already running may end')
})
