import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase, kernelMigrated } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createDb } from './db.ts'
import { createLog } from './log.ts'
import { createPeriodic } from './periodic.ts'

test('many nodes do the work once in a period, and again in the next', async () => {
  const connection = await freshDatabase()
  await kernelMigrated(connection)
  const log = await createLog({ level: 'silent', format: 'json' })
  let time = new Date('2026-01-01T00:00:00Z')
  const runs: number[] = []
  const nodes = Array.from({ length: 3 }, (_, node) => {
    const db = createDb(connection, { max: 2 })
    const task = { name: 'sweep', everySeconds: 1, run: async () => void runs.push(node) }
    return { db, task, periodic: createPeriodic({ db, log, now: () => time }) }
  })
  await Promise.all(nodes.map(({ periodic, task }) => periodic.start([task])))
  await eventually(() => assert.equal(runs.length, 1))
  time = new Date(time.getTime() + 1000)
  await eventually(() => assert.equal(runs.length, 2))
  await Promise.all(nodes.map(({ periodic }) => periodic.stop()))
  assert.equal(runs.length, 2)
  await Promise.all(nodes.map(({ db }) => db.close()))
})

test('a run that fails is tried again and leaves nothing behind', async () => {
  const connection = await freshDatabase()
  await kernelMigrated(connection)
  const log = await createLog({ level: 'silent', format: 'json' })
  const db = createDb(connection, { max: 2 })
  const periodic = createPeriodic({ db, log, now: () => new Date() })
  let attempts = 0
  await periodic.start([
    {
      name: 'stumble',
      everySeconds: 1,
      async run(sql) {
        await sql`insert into kernel.vault (name, sealed) values ('done', 'x')`
        if (attempts++ === 0) throw new Error('stumbled')
      },
    },
  ])
  await eventually(async () => assert.equal((await db.sql`select from kernel.vault`).length, 1))
  assert.equal(attempts, 2)
  await periodic.stop()
  await db.close()
})
