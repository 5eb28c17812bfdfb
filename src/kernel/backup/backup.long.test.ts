import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { backUp, backupDatabase, contentOf, masterKey, migrationsWith, restore } from '../../../test/harness/backup.ts'
import { administrationOf, temporaryDirectory } from '../../../test/harness/database.ts'
import { connect } from '../db.ts'
import { loadDataKey, readDataKey } from '../secrets.ts'
import { authenticate, backupKeyOf } from './authentication.ts'
import { verifyBackup } from './read.ts'

const everything = `
  create schema sample;
  create type sample.mood as enum ('good', 'b,ad"');
  create table sample.values (
    id bigint generated always as identity primary key,
    "Odd ""name" text, j jsonb, list text[], numbers int[], b bytea, t timestamptz, plain timestamp, d date,
    f float8, r real, n numeric, i interval, big bigint, yes boolean, u uuid, m sample.mood, net inet,
    twice bigint generated always as (big * 2) stored);
  create table sample.empty (id bigserial primary key, note text);
  create table sample.parents (id int primary key, best_child int);
  create table sample.children (id int primary key, parent int not null references sample.parents,
    elder int references sample.children);
  alter table sample.parents add constraint best foreign key (best_child) references sample.children;
  create table sample.daily (day date not null, v int) partition by range (day);
  create table sample.log (said text);
  create function sample.say() returns trigger language plpgsql as
    $$ begin insert into sample.log values ('a child came'); return new; end $$;
  create trigger tell after insert on sample.children for each row execute function sample.say()`

const migrations = migrationsWith({ '0001_sample.sql': everything })
const file = () => join(temporaryDirectory(), 'a.backup')
const verifyAll = async (path: string) => authenticate(path, await verifyBackup(path), backupKeyOf(masterKey))

async function aFullDatabase() {
  const { connection, pool } = await backupDatabase(migrations)
  await pool`
    insert into sample.values ("Odd ""name", j, list, numbers, b, t, plain, d, f, r, n, i, big, yes, u, m, net) values
    (${'tab\t newline\n return\r backslash\\ \\N \\. quote" \u{1F600} ü\u0001'},
      ${'{"a":[1,2.50,"\\n\\u00e4\\\\"],"b":null,"big":12345678901234567890}'}::text::jsonb,
      ${'{"a,b","c\\"d","\\\\",NULL,"NULL",""}'}::text::text[], '{1,NULL,-3}', '\\x000aff5c', 'infinity', '-infinity',
      '4713-01-01 BC', 'NaN', 1.1, 12345678901234567890.000000000012345, '1 year -3 days 04:05:06.789',
      4611686018427387903, true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'b,ad"', '10.0.0.0/8'),
    (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    ('', '"text"', '{}', '{}', '', '2024-02-29 12:34:56.789012+05:30', '1999-12-31 23:59:59.999999', 'infinity',
      0.1::float8 + 0.2::float8, 3.4e38, 'NaN', '-1 mon', -9223372036854775808 / 2, false, null, 'good', '::1')`
  await pool.unsafe(`
    create table sample.daily_1 partition of sample.daily for values from ('2024-01-01') to ('2024-01-02');
    create table sample.daily_rest partition of sample.daily default;
    insert into sample.daily values ('2024-01-01', 1), ('2030-01-01', 2);
    insert into sample.parents values (1, null), (2, null);
    insert into sample.children values (2, 1, null), (1, 2, 2), (3, 1, 3);
    update sample.parents set best_child = 3 where id = 1;
    select setval('sample.empty_id_seq', 9007199254740993);
    insert into kernel.outbox (subscription, event, key, payload) values ('s', 'e', 'k', '{"n": 1}');
    insert into kernel.vault values ('v', 'sealed');
    select jobs.create_queue('work', '{"policy": "standard"}');
    insert into jobs.job (name, data) values ('work', '{"tenantId": "acme"}')`)
  const key = await loadDataKey(pool, masterKey)
  return { connection, pool, key }
}

test('a restore writes every row of the backup: into the same database, into an empty database, and with another master key', async () => {
  const { connection, pool, key } = await aFullDatabase()
  const before = await contentOf(pool)
  const path = file()
  const backup = await backUp(connection, path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(existsSync(`${path}.partial`), false)
  assert.equal(backup.rows, Object.values(before).flat().length)
  assert.deepEqual(await verifyBackup(path), backup)

  const outbox = before['kernel.outbox']
  await pool.unsafe(`delete from sample.values; delete from kernel.outbox; delete from jobs.job;
    update sample.parents set best_child = null; insert into sample.empty (note) values ('late')`)
  assert.deepEqual((await restore(connection, path, migrations)).upgraded, [])
  assert.deepEqual(await contentOf(pool), before)
  assert.equal(outbox?.length, 1)
  assert.deepEqual(await readDataKey(pool, masterKey), key.current)

  const other = await backupDatabase()
  const otherMaster = Buffer.alloc(32, 9)
  await restore(other.connection, path, migrations, { masterKey: otherMaster, replace: false })
  assert.deepEqual(await contentOf(other.pool), before)
  assert.deepEqual(await readDataKey(other.pool, otherMaster), key.current)
  await assert.rejects(readDataKey(other.pool, masterKey), /master key/)

  const [next] = await other.pool`insert into sample.empty (note) values ('next') returning id::text`
  assert.equal(next?.id, '9007199254740994')
  const [value] = await other.pool`insert into sample.values (big) values (2) returning id, twice`
  assert.deepEqual({ ...value }, { id: 4, twice: 4 })
  await assert.rejects(other.pool`insert into sample.children values (9, 77, null)`, /children_parent_fkey/)
  await other.pool`insert into sample.children values (9, 1, null)`
  const [log] = await other.pool`select count(*)::int as n from sample.log`
  assert.equal(log?.n, 4, 'the trigger must fire for new rows, and must not fire for restored rows')
})

test('an existing file is replaced only with force, and a failed backup leaves no file', async () => {
  const { connection } = await backupDatabase(migrations)
  const path = file()
  writeFileSync(path, 'precious')
  await assert.rejects(backUp(connection, path), /exists already; --force/)
  assert.equal(readFileSync(path, 'utf8'), 'precious')
  await backUp(connection, path, { force: true })
  await verifyBackup(path)

  const empty = await backupDatabase()
  const none = file()
  await assert.rejects(backUp(empty.connection, none), /nothing to back up/)
  await assert.rejects(backUp(connection, join(none, 'no', 'such')), /ENOENT|ENOTDIR/)
  assert.equal(existsSync(none) || existsSync(`${none}.partial`), false)
})

test('a changed, missing or added byte of the backup is detected before the restore changes data', async () => {
  const { connection, pool } = await aFullDatabase()
  const path = file()
  await backUp(connection, path)
  const before = await contentOf(pool)
  const good = readFileSync(path)
  const bad = file()
  const offsets = [0, 5, 16, 17, 18, 21, 30, 200, good.length - 1, good.length - 32, good.length - 64, good.length - 70]
  for (let at = 300; at < good.length; at += 97) offsets.push(at)
  for (const at of offsets) {
    const changed = Buffer.from(good)
    changed[at]! ^= 1 << (at % 8)
    writeFileSync(bad, changed)
    await assert.rejects(verifyAll(bad), { name: 'BackupError' }, `byte ${at}`)
  }
  for (const length of [0, 1, 17, 40, good.length >> 1, good.length - 33, good.length - 32, good.length - 1]) {
    writeFileSync(bad, good.subarray(0, length))
    await assert.rejects(verifyAll(bad), { name: 'BackupError' }, `cut to ${length}`)
  }
  writeFileSync(bad, Buffer.concat([good, Buffer.from('x')]))
  await assert.rejects(restore(connection, bad, migrations), /damaged/)
  await assert.rejects(restore(connection, join(bad, '..', 'none'), migrations), /There is no file/)
  assert.deepEqual(await contentOf(pool), before)
})

test('a restore replaces existing data only if the caller requests it', async () => {
  const { connection, pool } = await aFullDatabase()
  const path = file()
  await backUp(connection, path)
  await pool`insert into sample.empty (id, note) values (1, 'precious')`
  const { existingData } = await restore(connection, path, migrations, { replace: false })
  assert.deepEqual(
    existingData?.find(({ table }) => table === 'sample.empty'),
    { table: 'sample.empty', rows: 1 },
  )
  assert.equal((await pool`select from sample.empty`).length, 1)
})

test('a restore that fails in the middle changes nothing', async () => {
  const { connection, pool } = await aFullDatabase()
  const path = file()
  await backUp(connection, path)
  // The server reports the failed check after the last row, when the driver's stream has already ended.
  await pool.unsafe(`truncate sample.values; alter table sample.values add check (big is null)`)
  const before = await contentOf(pool)
  await assert.rejects(restore(connection, path, migrations), /values_big_check|check constraint/)
  assert.deepEqual(await contentOf(pool), before)
})

test('backup and restore work with a role that owns its database and has no further rights', async () => {
  const source = await aFullDatabase()
  const path = file()
  await backUp(source.connection, path)
  const { connection } = await backupDatabase()
  const pool = connect(await administrationOf(connection), { max: 1, translate: false })
  const [here] = await pool`select current_database() as database, 'r_' || current_database() as role`
  await pool.unsafe(
    `create role ${here!.role} login password 'p'; alter database ${here!.database} owner to ${here!.role}`,
  )
  const asRole = { ...connection, user: here!.role, password: 'p' } as typeof connection
  await restore(asRole, path, migrations)
  await restore(asRole, path, migrations)
  await backUp(asRole, path, { force: true })
  assert.deepEqual(await contentOf(pool), await contentOf(source.pool))
  await pool.unsafe(`alter database ${here!.database} owner to current_user; drop owned by ${here!.role} cascade;
    drop role ${here!.role}`)
  await pool.end()
})
