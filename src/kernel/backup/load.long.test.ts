import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { backUp, backupDatabase, migrationsWith, restore } from '../../../test/harness/backup.ts'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { newBlobKey } from '../blobs/blobs.ts'
import { createFileBlobs } from '../blobs/files.ts'
import type { Pool } from '../db.ts'

const migrations = migrationsWith({
  '0001_sample.sql': `create schema sample;
    create unlogged table sample.large (id int primary key, content text not null, more jsonb not null);
    create table sample.papers (key text, size bigint, sum text);
    create table sample.left (id int primary key, amount int not null);
    create table sample.right (id int primary key, amount int not null)`,
})
const file = () => join(temporaryDirectory(), 'a.backup')
const megabytes = (bytes: number) => Math.round(bytes / 1e6)

/** Returns by how many bytes the memory of the process grew during the work. */
async function growthOf(work: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let highest = before
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, 10)
  await work()
  clearInterval(timer)
  return Math.max(highest, process.memoryUsage.rss()) - before
}

test('backup and restore of a table of 115 MB need less than 90 MB of memory', async () => {
  const { connection, pool } = await backupDatabase(migrations)
  await pool`
    insert into sample.large select i, repeat(md5(i::text), 15), jsonb_build_object('i', i, 'text', md5((i * 7)::text))
    from generate_series(1, 200000) as i`
  const path = file()
  const target = await backupDatabase(migrations)
  const writing = await growthOf(() => backUp(connection, path))
  const reading = await growthOf(() => restore(target.connection, path, migrations))
  const sum = (pool: Pool) => pool`select count(*)::int as rows, sum(hashtext(l::text)) as sum from sample.large as l`
  assert.deepEqual([...(await sum(target.pool))], [...(await sum(pool))])
  rmSync(dirname(path), { recursive: true })
  // The rows have 115 MB, so even one copy of them in memory would exceed the limit.
  assert.ok(writing < 90e6 && reading < 90e6, `grew by ${megabytes(writing)} and ${megabytes(reading)} MB`)
})

test('backup and restore of a content of 134 MB need less than 90 MB of memory', async () => {
  const { connection, pool } = await backupDatabase(migrations)
  const [from, to] = [temporaryDirectory(), temporaryDirectory()]
  const tables = [{ schema: 'sample', table: 'papers', key: 'key', size: 'size', sha256: 'sum', mark: 'none' }]
  const [key, size] = [newBlobKey(), 128 * 2 ** 20]
  const hash = createHash('sha256')
  async function* pieces() {
    for (let n = 0; n < 128; n++) {
      const piece = Buffer.alloc(2 ** 20, n)
      hash.update(piece)
      yield piece
    }
  }
  await createFileBlobs(from).write(key, pieces())
  const sum = hash.digest('hex')
  await pool`insert into sample.papers values (${key}, ${size}, ${sum})`
  const path = file()
  const target = await backupDatabase(migrations)
  const contentsOf = (directory: string) => ({ contents: { blobs: createFileBlobs(directory), tables } })
  const writing = await growthOf(() => backUp(connection, path, contentsOf(from)))
  rmSync(from, { recursive: true })
  const reading = await growthOf(() => restore(target.connection, path, migrations, contentsOf(to)))
  rmSync(dirname(path), { recursive: true })
  const found = createHash('sha256')
  for await (const piece of (await createFileBlobs(to).read(key))!) found.update(piece)
  assert.equal(found.digest('hex'), sum)
  // The content has 134 MB, so even one copy of it in memory would exceed the limit.
  assert.ok(writing < 90e6 && reading < 90e6, `grew by ${megabytes(writing)} and ${megabytes(reading)} MB`)
})

/** Moves amounts between two tables, alternating the order in which it locks them. */
async function moveAmounts(pool: Pool, isRunning: () => boolean): Promise<number> {
  let moved = 0
  for (let round = 0; isRunning(); round++) {
    const [from, to] = round % 2 ? ['left', 'right'] : ['right', 'left']
    try {
      await pool.begin(async (sql) => {
        await sql.unsafe(`update sample.${from} set amount = amount - 1 where id = ${round % 50}`)
        await sql.unsafe(`update sample.${to} set amount = amount + 1 where id = ${round % 50}`)
      })
      moved++
    } catch (error) {
      // This transaction and the restore deadlocked, and PostgreSQL aborted this transaction.
      assert.equal((error as { code?: string }).code, '40P01')
    }
  }
  return moved
}

test('concurrent writers see a backup as one snapshot and a restore as one transaction', async () => {
  const { connection, pool } = await backupDatabase(migrations)
  await pool.unsafe(`insert into sample.left select i, 100 from generate_series(0, 49) as i;
    insert into sample.right select i, 100 from generate_series(0, 49) as i`)
  const total = async (pool: Pool) => {
    const [row] =
      await pool`select (select sum(amount) from sample.left) + (select sum(amount) from sample.right) as sum`
    return Number(row?.sum)
  }
  let going = true
  const writers = Array.from({ length: 3 }, () => moveAmounts(pool, () => going))
  const target = await backupDatabase(migrations)
  const path = file()
  try {
    for (let round = 0; round < 3; round++) {
      await backUp(connection, path, { force: true })
      await restore(target.connection, path, migrations)
      assert.equal(await total(target.pool), 10_000)
      await restore(connection, path, migrations)
      assert.equal(await total(pool), 10_000)
    }
  } finally {
    going = false
  }
  assert.ok((await Promise.all(writers)).every((moved) => moved > 0))
  assert.equal(await total(pool), 10_000)
})
