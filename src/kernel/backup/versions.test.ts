import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { backUp, backupDatabase, contentOf, migrationsWith, restore } from '../../../test/harness/backup.ts'
import { temporaryDirectory } from '../../../test/harness/database.ts'

const first = `create schema sample; create table sample.things (id int primary key, name text);
  create table sample.seeds (id int); insert into sample.seeds values (1), (2)`
const second = `alter table sample.things add column length int; update sample.things set length = length(name)`
const older = migrationsWith({ '0001_a.sql': first })
const newer = migrationsWith({ '0001_a.sql': first, '0002_b.sql': second })
const file = () => join(temporaryDirectory(), 'a.backup')

async function anOlderBackup() {
  const { connection, pool } = await backupDatabase(older)
  await pool.unsafe(`insert into sample.things values (1, 'one'), (2, 'three'); delete from sample.seeds where id = 1`)
  const path = file()
  await backUp(connection, path)
  return { path, content: await contentOf(pool) }
}

test('a restore upgrades a backup of an older version to this version, whether the database is empty, older or current', async () => {
  const { path } = await anOlderBackup()
  for (const state of [undefined, older, newer]) {
    const { connection, pool } = await backupDatabase(state)
    const result = await restore(connection, path, newer)
    assert.deepEqual(result.upgraded, ['sample/0002_b.sql'])
    const things = await pool`select id, length from sample.things order by id`
    assert.deepEqual(
      [...things],
      [
        { id: 1, length: 3 },
        { id: 2, length: 5 },
      ],
    )
    assert.deepEqual([...(await pool`select id from sample.seeds`)], [{ id: 2 }])
    assert.equal((await pool`select from kernel.migrations where module = 'sample'`).length, 2)
  }
})

test('after a failed upgrade, the older version can restore its backup', async () => {
  const { path, content } = await anOlderBackup()
  const { connection, pool } = await backupDatabase(newer)
  await pool`insert into sample.things values (7, 'seven', 5)`
  assert.deepEqual((await restore(connection, path, older)).upgraded, [])
  assert.deepEqual(await contentOf(pool), content)
})

test('a backup of a newer or different version is rejected with the name of that version, and no data changes', async () => {
  const { connection, pool } = await backupDatabase(newer)
  const path = file()
  await backUp(connection, path)
  await pool`insert into sample.things values (1, 'later', 5)`
  await assert.rejects(restore(connection, path, older), /made by Waypost 1\.2\.3 and has sample\/0002_b\.sql/)
  const changed = migrationsWith({ '0001_a.sql': `${first};`, '0002_b.sql': second })
  await assert.rejects(restore(connection, path, changed), /whose sample\/0001_a\.sql differs/)
  assert.equal((await pool`select from sample.things`).length, 1)
})

test('when jobs of an older job queue are restored, columns that no longer exist are left out', async () => {
  const { connection, pool } = await backupDatabase(older)
  await pool.unsafe(`
    select jobs.create_queue('work', '{"policy": "standard"}');
    insert into jobs.job (name, data, priority, state) values ('work', '{"a": [1]}', 7, 'retry')`)
  await pool.unsafe(`
    alter table jobs.job add column gone text default 'x'; alter table jobs.queue add column gone int;
    update jobs.version set version = version - 1`)
  const path = file()
  await backUp(connection, path)
  const target = await backupDatabase()
  await restore(target.connection, path, older)
  const [job] = await target.pool`select name, data, priority, state::text from jobs.job`
  assert.deepEqual({ ...job }, { name: 'work', data: { a: [1] }, priority: 7, state: 'retry' })

  await pool`update jobs.version set version = version + 2`
  await backUp(connection, path, { force: true })
  await assert.rejects(restore(target.connection, path, older), /job queue has version/)
})
