import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase, temporaryDirectory } from '../../test/harness/database.ts'
import { connect } from './db.ts'
import { migrate, readMigrations } from './migrate.ts'

function aModule(files: Record<string, string>) {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return { read: () => readMigrations([{ module: 'm', directory }]), directory }
}

test('migrations run once, in the order of their numbers', async () => {
  const pool = connect(await freshDatabase(), { max: 4 })
  const { read, directory } = aModule({
    '0002_b.sql': 'alter table m.t add column b int',
    '0001_a.sql': 'create schema m; create table m.t (a int)',
    'README.md': 'not a migration',
  })
  assert.deepEqual(await migrate(pool, read()), ['m/0001_a.sql', 'm/0002_b.sql'])
  assert.deepEqual(await migrate(pool, read()), [])
  writeFileSync(join(directory, '0003_c.sql'), 'alter table m.t add column c int')
  assert.deepEqual(await migrate(pool, read()), ['m/0003_c.sql'])
  await pool.end()
  rmSync(directory, { recursive: true })
})

test('several nodes that start at the same time migrate once', async () => {
  const pool = connect(await freshDatabase(), { max: 5 })
  const { read, directory } = aModule({ '0001_a.sql': 'create schema m; create table m.t (a int)' })
  const results = await Promise.all(Array.from({ length: 5 }, () => migrate(pool, read())))
  assert.equal(results.flat().length, 1)
  await pool.end()
  rmSync(directory, { recursive: true })
})

test('a failing migration is rolled back completely', async () => {
  const pool = connect(await freshDatabase(), { max: 1 })
  const { read, directory } = aModule({
    '0001_a.sql': 'create schema m',
    '0002_b.sql': 'create table m.t (a nonsense)',
  })
  await assert.rejects(migrate(pool, read()), /nonsense/)
  const [row] = await pool`select to_regnamespace('m') is null as clean`
  assert.equal(row?.clean, true)
  await pool.end()
  rmSync(directory, { recursive: true })
})

test('a migration that was changed after it ran is rejected with its name', async () => {
  const pool = connect(await freshDatabase(), { max: 1 })
  const { read, directory } = aModule({ '0001_a.sql': 'create schema m' })
  await migrate(pool, read())
  writeFileSync(join(directory, '0001_a.sql'), 'create schema other')
  await assert.rejects(migrate(pool, read()), /m\/0001_a\.sql was changed/)
  await pool.end()
  rmSync(directory, { recursive: true })
})

test('a database of a newer version is rejected', async () => {
  const pool = connect(await freshDatabase(), { max: 1 })
  const { read, directory } = aModule({ '0001_a.sql': 'create schema m', '0002_b.sql': 'create table m.t (a int)' })
  await migrate(pool, read())
  rmSync(join(directory, '0002_b.sql'))
  await assert.rejects(migrate(pool, read()), /newer Waypost/)
  await pool.end()
  rmSync(directory, { recursive: true })
})
