/**
 * Tests backups that an attacker crafted. Their checksums are correct. With `{ key }` their authentication tag is also correct, as if the
 * attacker had the key.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { backUp, backupDatabase, contentOf, masterKey, migrationsWith, restore } from '../../../test/harness/backup.ts'
import { assembleBackup, type Part, partsOf, withManifest, withRows } from '../../../test/harness/crafted-backup.ts'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { backupKeyOf } from './authentication.ts'
import type { Partition } from './manifest.ts'
import { verifyBackup } from './read.ts'

const migrations = migrationsWith({
  '0001_sample.sql': `create schema sample;
    create table sample.things (id bigserial primary key, name text);
    create table sample.daily (day date not null, v int) partition by range (day);
    create table sample.daily_rest partition of sample.daily default`,
})
const key = backupKeyOf(masterKey)
const file = () => join(temporaryDirectory(), 'a.backup')

async function aBackup() {
  const { connection, pool } = await backupDatabase(migrations)
  await pool.unsafe(`
    insert into sample.things (name) values ('one'), ('two');
    create table sample.daily_1 partition of sample.daily for values from ('2024-01-01') to ('2024-01-02');
    insert into sample.daily values ('2024-01-01', 1), ('2030-01-01', 2);
    select jobs.create_queue('work', '{"policy": "standard"}');
    insert into jobs.job (name, data) values ('work', '{}');
    create schema others; create sequence others.numbers; create table others.hurt (at timestamptz)`)
  const path = file()
  await backUp(connection, path)
  return { connection, pool, path, parts: partsOf(path) }
}

const schemas = ['kernel', 'sample', 'jobs', 'others']

/**
 * Creates a database without the partition that is in the backup, so that a restore must create the partition. Returns a function that
 * asserts that a restore is rejected and does not change the database.
 */
async function aTarget() {
  const { connection, pool } = await backupDatabase(migrations)
  await pool.unsafe('create schema others; create table others.hurt (at timestamptz); create sequence others.numbers')
  const stateOf = async () => ({
    content: await contentOf(pool, schemas),
    numbers: [...(await pool`select last_value::int as value, is_called as called from others.numbers`)],
  })
  const before = await stateOf()
  return async (parts: Part[], reason: RegExp) => {
    const path = file()
    assembleBackup(path, parts, { key })
    await assert.rejects(restore(connection, path, migrations), (error: Error) => {
      assert.equal(error.name, 'BackupError', String(error.stack))
      assert.match(error.message, reason)
      return true
    })
    assert.deepEqual(await stateOf(), before)
  }
}

const aPartition = (more: Partial<Partition>): Partition => ({
  schema: 'sample',
  name: 'daily_2',
  parentSchema: 'sample',
  parent: 'daily',
  bound: "FOR VALUES FROM ('2024-01-02') TO ('2024-01-03')",
  key: null,
  ...more,
})

test('a restore rejects partitions whose bounds, keys, names or parents no migration allows', async () => {
  const { parts } = await aBackup()
  const refused = await aTarget()
  const evil = 'insert into others.hurt values (now())'
  for (const [partition, reason] of [
    [{ bound: `DEFAULT; ${evil}; --` }, /bounds cannot be read/],
    [{ bound: `FOR VALUES FROM ('2024-01-02') TO ('2024-01-03'); ${evil}` }, /bounds cannot be read/],
    [{ bound: `FOR VALUES FROM ((select now())) TO (MAXVALUE)` }, /bounds cannot be read/],
    [{ key: `LIST ((v)); ${evil}; --` }, /bounds cannot be read/],
    [{ key: 'LIST ((pg_backend_pid()))' }, /bounds cannot be read/],
    [{ name: 'daily_2" partition of sample.daily default; drop table x;--' }, /no migration allows/],
    [{ name: 'another' }, /no migration allows/],
    [{ name: 'daily_2; drop' }, /no migration allows/],
    [{ schema: 'others' }, /no migration allows/],
    [{ parentSchema: 'others', schema: 'others', parent: 'hurt', name: 'hurt_1' }, /no migration allows/],
    [{ parent: 'things', name: 'things_1' }, /no migration allows/],
  ] as [Partial<Partition>, RegExp][])
    await refused(
      withManifest(parts, (manifest) => void manifest.partitions.push(aPartition(partition))),
      reason,
    )
})

test('a restore rejects tables, columns and sequences that the migrations do not create', async () => {
  const { parts } = await aBackup()
  const refused = await aTarget()
  const withTable = (table: string, change: object) =>
    withManifest(parts, ({ tables }) => {
      Object.assign(tables.find(({ schema, name }) => `${schema}.${name}` === table)!, change)
    })
  await refused(withTable('sample.things', { schema: 'others' }), /table "others"\."things"/)
  await refused(
    withTable('sample.things', { name: "things\" (id) from program 'id' --" }),
    /which its migrations do not create/,
  )
  const evil = "name\") from program 'touch /tmp/x' --"
  await refused(withTable('sample.things', { columns: ['id', evil] }), /columns that its migrations do not create/)
  await refused(
    withTable('jobs.job', { columns: ['x" text); drop schema others cascade; --'] }),
    /columns that no job queue has/,
  )
  const numbers = { schema: 'others', name: 'numbers', value: '77', called: true }
  await refused(
    withManifest(parts, ({ sequences }) => void sequences.push(numbers)),
    /sequence "others"\."numbers"/,
  )
})

test('a restore rejects rows whose values would change the SQL text that uses them', async () => {
  const { parts } = await aBackup()
  const refused = await aTarget()
  const queues = (how: (line: string) => string) =>
    withRows(parts, 'jobs.queue', (rows) => rows + how(rows.split('\n')[0]!))
  const evil = 'job_common; insert into others.hurt values (now()); --'
  await refused(
    queues((line) => `${line.replace(/^work/, 'other').replace('job_common', evil)}\n`),
    /a job queue "other" that Waypost does not create/,
  )
  await refused(
    queues((line) => `${line.replace(/^work/, "work'; select 1; --")}\n`),
    /a job queue/,
  )
  await refused(
    withRows(parts, 'kernel.migrations', (rows) => `${rows}others\t0001_x.sql\tx\t2024-01-01 00:00:00+00\n`),
    /kernel\.migrations differ/,
  )
})

test('a manifest with wrong fields is reported as damaged, and the error does not contain texts of the manifest', async () => {
  const { parts } = await aBackup()
  for (const change of [
    { program: '1.2.3\u001b[2J' },
    { postgres: 'x\n' },
    { createdAt: '' },
    { migrations: [{ module: '../x', name: '0001_a.sql', checksum: '' }] },
    { dataKey: 'short' },
    { tables: [{ schema: 'sample', name: 'things', columns: [1] }] },
    { partitions: undefined },
    { sequences: [{ schema: 'sample', name: 'things_id_seq', value: '1; select 1', called: true }] },
    { sequences: {} },
  ]) {
    const path = file()
    assembleBackup(
      path,
      withManifest(parts, (manifest) => void Object.assign(manifest, change)),
      { key },
    )
    await assert.rejects(verifyBackup(path), /is damaged: its manifest cannot be read/, JSON.stringify(change))
  }
})

test('a backup that was written or changed without the key is rejected', async () => {
  const { parts } = await aBackup()
  const other = backupKeyOf(Buffer.alloc(32, 8))
  const target = await backupDatabase(migrations)
  const before = await contentOf(target.pool)
  const refused = async (made: Part[], by: Parameters<typeof assembleBackup>[2], reason: RegExp) => {
    const path = file()
    assembleBackup(path, made, by)
    await verifyBackup(path)
    await assert.rejects(restore(target.connection, path, migrations, { authentication: key }), reason)
    assert.deepEqual(await contentOf(target.pool), before)
  }
  await refused(parts, {}, /has no authentication tag.*--unauthenticated/)
  await refused(parts, { version: 1 }, /has no authentication tag/)
  await refused(parts, { key: other }, /was changed after it was made/)
  const renamed = withManifest(parts, (manifest) => void Object.assign(manifest, { keyId: '0123456789abcdef' }))
  await refused(
    renamed,
    { key: other },
    /made with another master key \(0123456789abcdef, this installation has [0-9a-f]{16}\).*--key-file/,
  )
  await refused(
    withRows(parts, 'sample.things', (rows) => rows.replace('one', 'won')),
    { key: other },
    /was changed after it was made/,
  )
})

test('swapped, repeated and missing parts are detected, even if the checksums are correct', async () => {
  const { parts } = await aBackup()
  const tables = parts.flatMap(({ type }, at) => (type === 'T' ? [at] : []))
  const [first, second, third] = tables as [number, number, number]
  const refused = async (made: Part[]) => {
    const path = file()
    assembleBackup(path, made, { key })
    await assert.rejects(verifyBackup(path), { name: 'BackupError' })
  }
  const a = parts.slice(first, second)
  const b = parts.slice(second, third)
  await refused([...parts.slice(0, first), ...b, ...a, ...parts.slice(third)])
  await refused([...parts.slice(0, second), ...a, ...parts.slice(third)])
  await refused([...parts.slice(0, second), ...parts.slice(third)])
  await refused([...parts.slice(0, second), ...parts.slice(first)])
  await refused([parts[0]!, ...parts])
  await refused([...parts.slice(1, 2), parts[0]!, ...parts.slice(2)])
  await refused(parts.slice(0, third).concat(parts.at(-1)!))
  await refused(parts.toSpliced(second - 1, 1))
})

test('a backup of an older format, which has no authentication tag, is restored only if the caller requests it', async () => {
  const { parts, pool } = await aBackup()
  for (const version of [1, 2]) {
    const target = await backupDatabase()
    const path = file()
    assembleBackup(path, parts, { version })
    await restore(target.connection, path, migrations, { authentication: 'none' })
    assert.deepEqual(await contentOf(target.pool), await contentOf(pool))
    const [bound] = await target.pool`
      select pg_get_expr(relpartbound, oid) as text from pg_class where oid = 'sample.daily_1'::regclass`
    assert.equal(bound!.text, "FOR VALUES FROM ('2024-01-01') TO ('2024-01-02')")
  }
})
