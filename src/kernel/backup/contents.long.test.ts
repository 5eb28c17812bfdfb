import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { backUp, backupDatabase, contentOf, migrationsWith, restore } from '../../../test/harness/backup.ts'
import { independentPool, temporaryDirectory } from '../../../test/harness/database.ts'
import { openS3 } from '../../../test/harness/s3.ts'
import { type Blobs, newBlobKey, pathOfKey } from '../blobs/blobs.ts'
import { createFileBlobs } from '../blobs/files.ts'
import { readMark, writeMark } from '../blobs/mark.ts'
import { mayRemove, pauseRemovals } from '../blobs/removal-lock.ts'
import { createS3Blobs } from '../blobs/s3.ts'
import { systemClock } from '../clock.ts'
import type { Pool } from '../db.ts'
import { verifyBackup } from './read.ts'

const migrations = migrationsWith({
  '0001_sample.sql': `create schema sample;
    create table sample.papers (id int generated always as identity primary key, content text, length bigint, sum text);
    create table sample.mark (id smallint primary key, mark text not null)`,
})
const tables = [{ schema: 'sample', table: 'papers', key: 'content', size: 'length', sha256: 'sum', mark: 'mark' }]
const file = () => join(temporaryDirectory(), 'a.backup')
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function* inPieces(bytes: Buffer, length = 100_000) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function aStore() {
  const directory = temporaryDirectory()
  return { directory, blobs: createFileBlobs(directory) }
}

async function insertPaper(pool: Pool, key: string, bytes: Buffer) {
  await pool`insert into sample.papers (content, length, sum) values (${key}, ${bytes.length}, ${sha256(bytes)})`
}

/** Returns a database whose rows reference contents of these sizes, and the blob store with them. */
async function aDatabaseWithContents(...sizes: number[]) {
  const { connection, pool } = await backupDatabase(migrations)
  const store = await aStore()
  const papers = new Map<string, Buffer>()
  for (const size of sizes) {
    const [key, bytes] = [newBlobKey(), randomBytes(size)]
    await store.blobs.write(key, inPieces(bytes))
    await insertPaper(pool, key, bytes)
    papers.set(key, bytes)
  }
  return { connection, pool, ...store, papers, contents: { blobs: store.blobs, tables } }
}

async function assertHolds(blobs: Blobs, papers: Map<string, Buffer>) {
  for (const [key, bytes] of papers) {
    const found = await blobs.read(key)
    assert.ok(found && (await buffer(found)).equals(bytes), `${key} of ${bytes.length} bytes`)
  }
}

const keysOf = async (blobs: Blobs) => (await Array.fromAsync(blobs.keys())).map(({ key }) => key).sort()

test('contents are backed up and restored with the rows that refer to them, from files into S3 and from S3 into files', async () => {
  const source = await aDatabaseWithContents(0, 1, 5000, 300_000, 6_000_000)
  await source.blobs.write(newBlobKey(), inPieces(randomBytes(10)))
  const path = file()
  const backup = await backUp(source.connection, path, { contents: source.contents })
  assert.deepEqual(backup.contents, { count: 5, bytes: 6_305_001, missing: 0, damaged: 0 })
  assert.deepEqual(await verifyBackup(path), backup)

  const s3 = createS3Blobs((await openS3()).settings, systemClock)
  const second = await backupDatabase()
  const there = { contents: { blobs: s3, tables } }
  assert.deepEqual((await restore(second.connection, path, migrations, there)).stored, { written: 5, kept: 0 })
  await assertHolds(s3, source.papers)
  assert.deepEqual(
    await keysOf(s3),
    [...source.papers.keys()].sort(),
    'the backup must not contain a content to which no row refers',
  )
  assert.deepEqual((await restore(second.connection, path, migrations, there)).stored, { written: 0, kept: 5 })

  const again = file()
  await backUp(second.connection, again, there)
  const third = { ...(await backupDatabase()), ...(await aStore()) }
  await restore(third.connection, again, migrations, { contents: { blobs: third.blobs, tables } })
  await assertHolds(third.blobs, source.papers)
  assert.deepEqual(await contentOf(third.pool, ['sample']), await contentOf(source.pool, ['sample']))
})

test('the restore of a backup without contents does not change the blob store', async () => {
  const source = await aDatabaseWithContents(10)
  const path = file()
  const backup = await backUp(source.connection, path)
  assert.equal(backup.contents, undefined)
  const result = await restore(source.connection, path, migrations, { contents: source.contents })
  assert.equal(result.stored, undefined)
  await assertHolds(source.blobs, source.papers)

  writeFileSync(path, readFileSync(path, 'latin1').replace('BACKUP 3', 'BACKUP 4'), 'latin1')
  await assert.rejects(verifyBackup(path), /has format 4, which this Waypost does not know: a newer version made it/)
  const withContents = file()
  await backUp(source.connection, withContents, { contents: source.contents })
  const other = { ...(await backupDatabase()), ...(await aStore()) }
  assert.equal((await restore(other.connection, withContents, migrations)).stored, undefined)
  assert.deepEqual(await keysOf(other.blobs), [], 'without a blob store only rows must be restored')
})

test('a backup counts missing and damaged contents, and contains all other contents', async () => {
  const source = await aDatabaseWithContents(20, 30)
  const [good, bad] = [...source.papers.keys()] as [string, string]
  const blobFile = join(source.directory, pathOfKey(bad))
  writeFileSync(blobFile, 'other bytes')
  const lost = Array.from({ length: 600 }, newBlobKey)
  await source.pool`insert into sample.papers (content, length, sum) select unnest(${lost}::text[]), 1, 'x'`
  const path = file()
  const backup = await backUp(source.connection, path, { contents: source.contents })
  assert.deepEqual(backup.contents, { count: 2, bytes: 31, missing: 600, damaged: 1 })

  const other = { ...(await backupDatabase()), ...(await aStore()) }
  await restore(other.connection, path, migrations, { contents: { blobs: other.blobs, tables } })
  await assertHolds(other.blobs, new Map([[good, source.papers.get(good)!]]))
  assert.equal(await other.blobs.read(lost[0]!), undefined)
  assert.equal(readFileSync(join(other.directory, pathOfKey(bad)), 'utf8'), 'other bytes')
  assert.equal((await other.pool`select from sample.papers`).length, 602)
  // If the backup has a damaged copy of a content, the intact content in the store is kept.
  writeFileSync(blobFile, source.papers.get(bad)!)
  await restore(source.connection, path, migrations, { contents: source.contents })
  await assertHolds(source.blobs, source.papers)
})

test('a backup fails if the store has no content at all, and continues to read after a broken connection', async () => {
  const source = await aDatabaseWithContents(100_000, 500_000)
  const path = file()
  const otherStore = { contents: { blobs: (await aStore()).blobs, tables } }
  await assert.rejects(backUp(source.connection, path, otherStore), /None of the 2 contents .*WAYPOST_DATA/)
  assert.equal(existsSync(path) || existsSync(`${path}.partial`), false)

  const breaking = (breaksMax: number): Blobs => {
    let breaks = 0
    return {
      ...source.blobs,
      async read(key, range) {
        const whole = await buffer((await source.blobs.read(key, range))!)
        if (++breaks > breaksMax) return Readable.from(whole.length > 0 ? [whole] : [])
        return Readable.from(
          (async function* () {
            yield whole.subarray(0, 70_000)
            throw new Error('the connection broke')
          })(),
        )
      },
    }
  }
  await assert.rejects(
    backUp(source.connection, path, { contents: { blobs: breaking(99), tables } }),
    /connection broke/,
  )
  const backup = await backUp(source.connection, path, { contents: { blobs: breaking(3), tables } })
  assert.deepEqual(backup.contents, { count: 2, bytes: 600_000, missing: 0, damaged: 0 })
})

test('any changed byte of a content is detected before data is changed', async () => {
  const source = await aDatabaseWithContents(3000, 400_000)
  const path = file()
  await backUp(source.connection, path, { contents: source.contents })
  const good = readFileSync(path)
  const before = await contentOf(source.pool)
  const bad = file()
  for (const bytes of source.papers.values())
    for (const at of [good.indexOf(bytes.subarray(0, 1000)), good.indexOf(bytes.subarray(-100)) + 99]) {
      const changed = Buffer.from(good)
      changed[at]! ^= 4
      writeFileSync(bad, changed)
      await assert.rejects(verifyBackup(bad), /the checksum of the content [0-9a-f]{32} does not match/)
    }
  const [small] = source.papers.keys()
  const named = Buffer.from(good)
  named.write('../../..', good.indexOf(`"key":"${small}`) + 7)
  writeFileSync(bad, named)
  await assert.rejects(verifyBackup(bad), /mixed up/)
  const other = await aStore()
  const contents = { blobs: other.blobs, tables }
  await assert.rejects(restore(source.connection, bad, migrations, { contents }), { name: 'BackupError' })
  // The file is replaced after its verification.
  const verified = await verifyBackup(path)
  await backUp(source.connection, path, { force: true, contents: source.contents })
  await assert.rejects(restore(source.connection, path, migrations, { verified, contents }), /was changed while/)
  assert.deepEqual(await contentOf(source.pool), before)
})

test('a failed restore changes no row, and the next restore does not write again contents that are already written', async () => {
  const source = await aDatabaseWithContents(700, 300_000, 8)
  const path = file()
  await backUp(source.connection, path, { contents: source.contents })
  const s3 = await openS3()
  const target = await backupDatabase(migrations)
  await insertPaper(target.pool, newBlobKey(), Buffer.from('of before'))
  const before = await contentOf(target.pool)
  const contents = { blobs: createS3Blobs(s3.settings, systemClock), tables }
  s3.injectFailure = (request) => (request.startsWith('PUT') && s3.objects.size > 0 ? 403 : undefined)
  await assert.rejects(restore(target.connection, path, migrations, { contents }), /answered 403 to PUT/)
  assert.deepEqual(await contentOf(target.pool), before)
  s3.injectFailure = () => undefined
  // The server rejects the rows after the contents were written.
  await target.pool`alter table sample.papers add constraint short check (length < 9) not valid`
  await assert.rejects(restore(target.connection, path, migrations, { contents }), /short|check constraint/)
  assert.deepEqual(await contentOf(target.pool), before)
  await target.pool`alter table sample.papers drop constraint short`
  const { stored } = await restore(target.connection, path, migrations, { contents })
  assert.deepEqual(stored, { written: 0, kept: 3 })
  await assertHolds(contents.blobs, source.papers)

  // One file is incomplete because of kill -9, and the other file has wrong bytes because of a bad disk.
  const store = await aStore()
  const [one, two, three] = [...source.papers.keys()] as [string, string, string]
  mkdirSync(join(store.directory, 'unfinished'))
  writeFileSync(join(store.directory, 'unfinished', one), 'half')
  mkdirSync(join(store.directory, dirname(pathOfKey(two))), { recursive: true })
  writeFileSync(join(store.directory, pathOfKey(two)), Buffer.alloc(300_000))
  await store.blobs.write(three, inPieces(source.papers.get(three)!))
  const last = await restore(target.connection, path, migrations, { contents: { blobs: store.blobs, tables } })
  assert.deepEqual(last.stored, { written: 2, kept: 1 })
  await assertHolds(store.blobs, source.papers)
  assert.equal(existsSync(join(store.directory, 'unfinished', one)), false)
})

test('while backups run, no content is removed; several backups may run at the same time', async () => {
  const source = await aDatabaseWithContents(10, 10)
  const path = file()
  const outcomes: boolean[] = []
  const tryRemoval = async () => outcomes.push(await source.pool.begin((sql) => mayRemove(sql)))
  const other = file()
  const watching: Blobs = {
    ...source.blobs,
    async read(key) {
      await tryRemoval()
      if (!existsSync(other)) await backUp(source.connection, other, { contents: source.contents })
      return await source.blobs.read(key)
    },
  }
  await tryRemoval()
  await backUp(source.connection, path, { contents: { blobs: watching, tables } })
  await tryRemoval()
  assert.deepEqual(outcomes, [true, false, false, true])

  // A backup waits for a removal that has already begun.
  const order: string[] = []
  let copying: Promise<unknown> | undefined
  const [second, third] = [independentPool(source.connection), independentPool(source.connection)]
  await source.pool.begin(async (sql) => {
    assert.equal(await mayRemove(sql), true)
    copying = second.begin(async (sql) => {
      await pauseRemovals(sql)
      order.push('copy')
    })
    await third.begin(async (sql) => {
      while (await mayRemove(sql));
    })
    order.push('removed')
  })
  await copying
  assert.deepEqual(order, ['removed', 'copy'])
})

test('after a restore, the database has its previous mark if the blob store has the same mark; otherwise it has the mark of the backup', async () => {
  const source = await aDatabaseWithContents(5)
  await source.pool`insert into sample.mark values (1, 'source')`
  const path = file()
  await backUp(source.connection, path, { contents: source.contents })
  const target = await backupDatabase(migrations)
  const markAfter = async (inStore: string | undefined, inRows: string | undefined) => {
    const { blobs } = await aStore()
    if (inStore) await writeMark(blobs, inStore)
    await target.pool`truncate sample.mark`
    if (inRows) await target.pool`insert into sample.mark values (1, ${inRows})`
    await restore(target.connection, path, migrations, { contents: { blobs, tables } })
    assert.equal(await readMark(blobs), inStore)
    return (await target.pool`select mark from sample.mark`)[0]?.mark
  }
  assert.equal(await markAfter('target', 'target'), 'target')
  assert.equal(await markAfter('another', 'target'), 'source')
  assert.equal(await markAfter('source', undefined), 'source')
  assert.equal(await markAfter(undefined, 'target'), 'source')
})
