import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { migrationSources } from '../../src/assembly/build.ts'
import { backupKeyOf } from '../../src/kernel/backup/authentication.ts'
import { defineEvent } from '../../src/kernel/bus.ts'
import { contract } from '../../src/kernel/contract.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import { defineJob } from '../../src/kernel/jobs.ts'
import { readMigrations } from '../../src/kernel/migrate.ts'
import { backUp, connectionOf, masterKey, restore } from '../harness/backup.ts'
import { type Ask, client } from '../harness/client.ts'
import { openCommands } from '../harness/commands.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { createFixtures } from '../harness/gateway.ts'
import { type RunningPlatform, runCommand, startPlatform } from '../harness/platform.ts'
import { openS3 } from '../harness/s3.ts'
import { openTestPlatform } from '../harness/test-platform.ts'
import { uploadTokenOf } from '../harness/upload-token.ts'

interface Notes {
  read(id: number): Promise<string | undefined>
  done: string[]
}
const Notes = contract<Notes>('notes')
const Work = defineJob<{ name: string }>('sample-work')
const Written = defineEvent<{ tenantId: string }>('notes.note.written', { description: 'for this test' })

/** Service for this test. It has encrypted texts, a cache that a reset clears, and a job and an event handler that record their input. */
function notesService(directory: string) {
  return defineService({
    name: 'sample',
    provides: Notes,
    migrations: new URL(`${pathToFileURL(directory).href}/`),
    build(kit) {
      const cache = new Map<number, string>()
      const done: string[] = []
      kit.bus.onReset(() => cache.clear())
      kit.bus.handle('sample.note', Written, async (_, { tenantId }) => void done.push(`event ${tenantId}`))
      kit.jobs.handle(Work, async ({ name }) => void done.push(`job ${name}`))
      return {
        api: {
          done,
          async read(id) {
            const known = cache.get(id)
            if (known !== undefined) return known
            const [row] = await kit.db.sql`select sealed from sample.notes where id = ${id}`
            if (!row) return undefined
            const text = kit.secrets.open(row.sealed)
            cache.set(id, text)
            return text
          },
        },
      }
    },
  })
}

test('after a restore of a backup of another installation, the running platform uses the restored data and keys', async () => {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, '0001_a.sql'), 'create schema sample; create table sample.notes (id int, sealed text)')
  const service = notesService(directory)
  const environment = { WAYPOST_MASTER_KEY: 'the master key of the one installation' }
  const source = await openTestPlatform({ services: [service], environment })
  const two = await openTestPlatform({
    services: [service],
    // The restore ends the database connections of this platform, so the platform logs errors that the test expects.
    environment: { WAYPOST_MASTER_KEY: 'the master key of the other installation', WAYPOST_LOG_LEVEL: 'silent' },
  })
  const keyOf = (text: string) => createHash('sha256').update(text).digest()
  const migrations = readMigrations(migrationSources([service]))
  const path = join(temporaryDirectory(), 'a.backup')

  // The event and the job must be pending when the backup is made.
  await source.kit.bus.stop()
  await source.kit.jobs.stop()
  await source.kit.db.tx(async (sql) => {
    await sql`insert into sample.notes values (1, ${source.kit.secrets.seal('of one')})`
    await source.kit.bus.publish(sql, Written, { tenantId: 'acme' })
    await sql`insert into jobs.job (name, data) values ('sample-work', '{"name": "left over"}')`
  })
  await two.kit.db.sql`insert into sample.notes values (1, ${two.kit.secrets.seal('of two')})`
  assert.equal(await two.ask(Notes).read(1), 'of two')

  const keyOfOne = keyOf('the master key of the one installation')
  const authentication = backupKeyOf(keyOfOne)
  await backUp(connectionOf(source), path, { masterKey: keyOfOne })
  const target = connectionOf(two)
  await assert.rejects(restore(target, path, migrations, { masterKey, authentication }), /with another master key/)
  assert.equal(await two.ask(Notes).read(1), 'of two')
  await restore(target, path, migrations, {
    masterKey: keyOf('the master key of the other installation'),
    authentication,
  })

  await eventually(async () => assert.equal(await two.ask(Notes).read(1), 'of one'))
  await eventually(() => assert.deepEqual(two.ask(Notes).done.toSorted(), ['event acme', 'job left over']))
  const sealed = two.kit.secrets.seal('new')
  assert.equal(two.kit.secrets.open(sealed), 'new')
  assert.equal(source.kit.secrets.open(sealed), 'new', 'both platforms must have the same data key')
})

/** Uploads the file of a software version. */
async function aFirmwareAt(admin: Ask, app: string) {
  const firmware = `/otao/api/v1/applications/${app}/software/1.0.0`
  const content = 'firmware in the backup'
  const created = await admin(`POST ${firmware}`, { rolloutStrategy: 'general' })
  assert.equal(created.status, 201, created.text)
  const uploaded = await admin(`PUT ${firmware}/file?filename=firmware.bin`, Buffer.from(content))
  assert.equal(uploaded.status, 204, uploaded.text)
  return {
    async remove() {
      assert.equal((await admin(`DELETE ${firmware}`)).status, 204)
      assert.equal((await admin(`GET ${firmware}/file`)).status, 404)
    },
    async isRestored() {
      const { status, headers, text } = await admin(`GET ${firmware}/file`)
      const etag = `"${createHash('sha256').update(content).digest('hex')}"`
      assert.deepEqual([status, headers.get('etag'), text], [200, etag, content])
    },
  }
}

/** Creates a software file and an endpoint with uploads. Returns functions that read them. */
async function aCameraAt(platform: RunningPlatform) {
  const admin = await platform.asService(platform.bootstrap.default)
  const endpoint = await createFixtures(admin).aProvisionedEndpoint()
  const device = client(platform.baseUrl, { 'x-auth-token': await uploadTokenOf(platform.baseUrl, endpoint) })
  const camera = `/bcx/api/v1/applications/${endpoint.app}/endpoints/${endpoint.endpointId}`
  return {
    admin,
    firmware: await aFirmwareAt(admin, endpoint.app),
    camera,
    download: (name: string) => admin(`GET ${camera}/files/${name}`),
    async upload(where: string, content: string | Uint8Array) {
      const { status, text } = await device(`POST /bcx/api/v1${where}`, content)
      assert.ok(status === 201 || status === 204, text)
    },
  }
}

type Command = ReturnType<typeof openCommands>

/** Restores with a different master key and without a master key. A rejected restore must create no file. */
async function onOtherMachine(command: Command, file: string, keyFile: string) {
  const directory = join(temporaryDirectory(), 'new')
  const other = { WAYPOST_MASTER_KEY: 'another key of thirty-two letters' }
  const run = (args: string[], environment = {}) => command(['restore', file, ...args], { directory, environment })
  const [none, wrong, checked, both, missing] = await Promise.all([
    run([]),
    run([], other),
    run(['--check', '--key-file', keyFile], other),
    run(['--key-file', keyFile, '--unauthenticated']),
    run(['--key-file', `${keyFile}.none`]),
  ])
  assert.equal(none.code, 1)
  assert.match(none.stderr, /^waypost: There is no master key in .*--key-file.*--unauthenticated/)
  assert.equal(wrong.code, 1)
  assert.match(
    wrong.stderr,
    /^waypost: .* was made with another master key \([0-9a-f]{16}, this installation has [0-9a-f]{16}\)/,
  )
  assert.equal(checked.code, 0, checked.stderr)
  assert.match(checked.stdout, /Every checksum matches\.\nThe backup was made with the master key [0-9a-f]{16}\./)
  assert.equal(both.code, 2)
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /^waypost: .*ENOENT/)
  assert.equal(existsSync(directory), false)
  const restored = await run(['--key-file', keyFile])
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stdout, /Restored \d+ tables/)
  const unknown = await run(['--unauthenticated', '--yes'])
  assert.equal(unknown.code, 0, unknown.stderr)
  assert.match(unknown.stdout, /Its origin is not checked/)
}

/** Runs `doctor` with the same addresses and ports that the platform has, as an operator would set them for both programs. */
async function examine(platform: RunningPlatform, command: ReturnType<typeof openCommands>) {
  const [{ port }, management] = [new URL(platform.baseUrl), new URL(platform.managementUrl)]
  const environment = { WAYPOST_PORT: port, WAYPOST_MANAGEMENT_PORT: management.port }
  const doctor = (more = {}) =>
    command(['doctor'], { directory: platform.directory, environment: { ...environment, ...more } })
  const health = await doctor()
  assert.equal(health.code, 0, health.stdout)
  assert.match(health.stdout, /✓ The platform runs at .* and is ready/)
  const rejected = await doctor({ WAYPOST_PORTT: '1' })
  assert.equal(rejected.code, 1)
  assert.match(rejected.stdout, /✗ WAYPOST_PORTT is not a setting.*WAYPOST_PORT/)
  const otherKey = await doctor({ WAYPOST_MASTER_KEY: 'x'.repeat(32) })
  assert.equal(otherKey.code, 1, otherKey.stdout)
  assert.match(otherKey.stdout, /✗ The master key does not open this database/)
}

test('the commands doctor, backup and restore work while the platform runs', async () => {
  const platform = await startPlatform()
  const { directory } = platform
  const command = openCommands()
  const run = (...args: string[]) => command(args, { directory })
  const bootstrapFile = join(directory, 'bootstrap.json')
  const first = readFileSync(bootstrapFile, 'utf8')
  const file = join(temporaryDirectory(), 'a.backup')
  const { admin, firmware, camera, upload, download } = await aCameraAt(platform)
  await upload('/files/kept', 'in the backup')
  await upload('/binary-data', randomBytes(300_000))

  const backup = await runCommand(['backup', file], { directory })
  assert.equal(backup.code, 0, backup.stderr)
  assert.match(
    backup.stdout,
    /Wrote .*: \d+ tables, [\d,]+ rows, .*in [\d.]+ s\.\nWith 3 contents of files and blobs, 300 kB\.\n.*SHA-256 [0-9a-f]{64}\n.*0600/,
  )
  const [again, checked, refused] = await Promise.all([
    run('backup', file),
    command(['restore', file, '--check'], { directory: join(directory, 'none') }),
    run('restore', file),
  ])
  assert.match(backup.stdout, /keep the master key of this installation: .*keys\/master\.key/)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists already/)
  assert.equal(checked.code, 0, checked.stderr)
  assert.match(
    checked.stdout,
    /With 3 contents of files and blobs, 300 kB\.\n.*\nEvery checksum matches.\n.*--key-file/,
  )
  await onOtherMachine(command, file, join(directory, 'keys', 'master.key'))
  assert.equal(refused.code, 2, refused.stderr)
  assert.match(refused.stderr, /Nothing was changed\. Run the command again with --yes/)

  // The test kills the restore while it writes contents. The killed restore must change no row, and the next restore must succeed.
  await admin(`DELETE ${camera}/files/kept`)
  await firmware.remove()
  const s3 = await openS3()
  const { origin, bucket, accessKey, secretKey } = s3.settings
  const inS3 = {
    directory,
    environment: {
      WAYPOST_S3_URL: `${origin}/${bucket}`,
      WAYPOST_S3_ACCESS_KEY: accessKey,
      WAYPOST_S3_SECRET_KEY: secretKey,
    },
  }
  const killed = await runCommand(['restore', file, '--yes'], {
    ...inS3,
    onSpawn(child) {
      s3.injectFailure = (request) => {
        if (!request.startsWith('PUT') || s3.objects.size === 0) return undefined
        child.kill('SIGKILL')
        return 'reset'
      }
    },
  })
  assert.equal(killed.code, null)
  assert.equal((await download('kept')).status, 404)
  s3.injectFailure = () => undefined
  const resumed = await command(['restore', file, '--yes'], inS3)
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.match(
    resumed.stdout,
    /Wrote 2 contents of files and blobs to the S3 store; kept 1 content that the store already had/,
  )
  assert.equal(s3.objects.size, 3)
  const [without, withThem, unclear] = await Promise.all([
    command(['backup', `${file}-2`], inS3),
    command(['backup', `${file}-3`, '--with-files'], inS3),
    run('backup', `${file}-4`, '--with-files', '--without-files'),
  ])
  assert.match(
    without.stdout,
    /does not include .*: they are in the S3 store, .*; --with-files includes them/,
    without.stderr,
  )
  assert.match(withThem.stdout, /With 3 contents of files and blobs, 300 kB/, withThem.stderr)
  assert.equal(unclear.code, 2, unclear.stderr)
  // The restore wrote the contents to the S3 store. The running platform reads its local folder, where the deleted file is missing.
  const { status, text } = await download('kept')
  assert.equal(status, 404)
  assert.match(text, /content is missing in the blob store/)

  writeFileSync(bootstrapFile, '{}')
  const before = statSync(bootstrapFile).mtimeMs
  const restored = await runCommand(['restore', file, '--yes'], { directory })
  assert.equal(restored.code, 0, restored.stderr)
  await eventually(() => assert.ok(statSync(bootstrapFile).mtimeMs > before))
  assert.equal(readFileSync(bootstrapFile, 'utf8'), first)
  assert.match(
    restored.stdout,
    /Wrote 2 contents of files and blobs to .*blobs; kept 1 content that the store already had/,
  )
  await eventually(async () => assert.equal((await download('kept')).text, 'in the backup'))
  await firmware.isRestored()
  await runsAreListed(platform)
  await examine(platform, command)
})

/** Asserts that the platform lists the runs of both commands, including the runs before the restore. */
async function runsAreListed(platform: RunningPlatform) {
  const asPlatform = await platform.asService(platform.bootstrap.platform)
  const { body } = await asPlatform('GET /platform/api/v1/backups')
  const runs = (body.content as { kind: string; withContents: boolean; problem?: string; rows?: number }[]).toReversed()
  assert.deepEqual(runs.map(({ kind, problem }) => `${kind} ${problem === undefined ? 'done' : 'failed'}`).toSorted(), [
    'backup done',
    'backup done',
    'backup done',
    'backup failed',
    'restore done',
    'restore done',
  ])
  assert.ok(runs[0]!.rows! > 100 && runs[0]!.withContents)
}
