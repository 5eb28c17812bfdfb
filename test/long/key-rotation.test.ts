/** Rotates the master key while nodes run, and kills the command with SIGKILL at several moments. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { sealedColumns } from '../../src/assembly/build.ts'
import { catalogue } from '../../src/assembly/catalogue.ts'
import { connect, type Pool } from '../../src/kernel/db.ts'
import { createSecrets, masterKeyOf, readDataKeys } from '../../src/kernel/secrets.ts'
import { client, requestToken } from '../harness/client.ts'
import { freshDatabase, temporaryDirectory } from '../harness/database.ts'
import {
  initializedDirectory,
  nodeDirectories,
  type RunningPlatform,
  runCommand,
  startPlatform,
} from '../harness/platform.ts'
import { databaseUrl } from '../harness/postgres-server.ts'

const oldKey = 'the old master key of this installation'
const newKey = 'the new master key of this installation'
const keyOf = (text: string) => masterKeyOf(text, 'test')
const rows = 3000

let pool: Pool
let nodes: RunningPlatform[]
let environment: Record<string, string>

before(async () => {
  const connection = await freshDatabase()
  environment = { WAYPOST_DATABASE_URL: await databaseUrl(connection), WAYPOST_MASTER_KEY: oldKey }
  nodes = await Promise.all(nodeDirectories(2).map((directory) => startPlatform({ directory, environment })))
  pool = connect(connection, { max: 2 })
  const secrets = createSecrets((await readDataKeys(pool, keyOf(oldKey)))!)
  for (let n = 0; n < rows; n++)
    await pool`insert into kernel.vault (name, sealed) values (${`many-${n}`}, ${secrets.seal(`value ${n}`)})`
})

/** Asserts that both nodes issue a token, which needs the secret of an OAuth client and the signing key of the realm. */
async function assertNodesWork() {
  for (const { baseUrl, bootstrap } of nodes) {
    const { id, secret } = bootstrap.default.backendClient
    const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    assert.equal((await requestToken(baseUrl, 'default', grant)).status, 200)
  }
}
const rotate = (settings: Record<string, string>, action = 'rotate', onOutput?: (text: string) => boolean) =>
  runCommand(['secrets', action], {
    directory: temporaryDirectory(),
    environment: { ...environment, ...settings },
    onSpawn(child) {
      let output = ''
      child.stdout?.on('data', (text) => {
        output += text
        if (onOutput?.(output)) child.kill('SIGKILL')
      })
    },
  })
const to = (WAYPOST_NEW_MASTER_KEY: string) => ({ WAYPOST_NEW_MASTER_KEY })

test('the command rejects bad keys and changes nothing in the database', async () => {
  for (const [settings, text] of [
    [{}, /WAYPOST_NEW_MASTER_KEY/],
    [to('short'), /at least 32 characters/],
    [to(oldKey), /is the present master key/],
    [{ ...to(newKey), WAYPOST_MASTER_KEY: 'a master key of another installation' }, /master key does not open/],
  ] as const) {
    const { code, stderr } = await rotate(settings)
    assert.notEqual(code, 0)
    assert.match(stderr, text)
  }
  assert.match((await rotate({}, 'finish')).stderr, /no rotation is under way/)
  assert.match((await rotate({}, 'status')).stdout, /No rotation/)
  assert.notEqual((await rotate({}, 'other')).code, 0)
  assert.equal((await pool`select from kernel.key_rotation`).length, 0)
})

test('while two nodes work, each run of the command continues the rotation of a run that was killed with SIGKILL', async () => {
  const moments = [/loads the new key/, /seals with the new key/, /so far/, /so far\.\s.*so far/]
  for (const moment of moments) {
    const { code } = await rotate(to(newKey), 'rotate', (output) => moment.test(output))
    assert.equal(code, null, `the command ended before ${moment}`)
    await assertNodesWork()
    const backup = await runCommand(['backup', join(temporaryDirectory(), 'b')], { environment })
    assert.notEqual(backup.code, 0)
    assert.match(backup.stderr, /waypost secrets rotate/)
  }
  assert.match((await rotate(to('yet another key for this installation'))).stderr, /another new master key/)
  assert.match((await rotate({}, 'finish')).stderr, /not done|old master key/)
  const done = await rotate(to(newKey))
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /waypost secrets finish/)
  await assertNodesWork()
  assert.match((await rotate({}, 'finish')).stderr, /runs with the old master key/)

  // Nodes restart one after the other with the new key.
  const restarted: RunningPlatform[] = []
  for (const { directory, kill } of nodes) {
    assert.equal(await kill('SIGTERM'), 0)
    restarted.push(await startPlatform({ directory, environment: { ...environment, WAYPOST_MASTER_KEY: newKey } }))
  }
  nodes = restarted
  const finished = await rotate({ WAYPOST_MASTER_KEY: newKey }, 'finish')
  assert.equal(finished.code, 0, finished.stderr)
  await assertNodesWork()
  await assert.rejects(readDataKeys(pool, keyOf(oldKey)), /master key does not open/)
  for (const node of nodes) assert.doesNotMatch(node.output(), /"level":(50|60)/, node.output())
})

test('after the rotation, every value is sealed with the new key, and no value is lost', async () => {
  const keys = (await readDataKeys(pool, keyOf(newKey)))!
  assert.equal(keys.other, undefined)
  const secrets = createSecrets(keys)
  for (const { name, sealed } of await pool`select name, sealed from kernel.vault where name like 'many-%'`)
    assert.equal(secrets.open(sealed), `value ${name.slice(5)}`)
})

test('every column that contains sealed values is declared for the rotation', async () => {
  const declared = new Set(sealedColumns(catalogue).map(({ schema, table, column }) => `${schema}.${table}.${column}`))
  const columns = await pool`
    select table_schema as schema, table_name as table, column_name as column from information_schema.columns
    where data_type in ('text', 'jsonb', 'json') and table_schema not in ('pg_catalog', 'information_schema')`
  const known = new Set(columns.map(({ schema, table, column }) => `${schema}.${table}.${column}`))
  for (const name of declared) assert.ok(known.has(name), `${name} does not exist`)
  for (const { schema, table, column } of columns) {
    const [found] = await pool.unsafe(
      `select from "${schema}"."${table}" where "${column}"::text ~ '(^|")v[12][.][A-Za-z0-9_.-]{38,}' limit 1`,
    )
    const isKey = schema === 'kernel' && (table === 'data_keys' || table === 'key_rotation')
    if (found && !isKey) assert.ok(declared.has(`${schema}.${table}.${column}`), `${schema}.${table}.${column}`)
  }
  for (const { column, table } of columns)
    if (/sealed/.test(column) && !['data_keys', 'key_rotation'].includes(table))
      assert.ok(
        [...declared].some((name) => name.endsWith(`.${table}.${column}`)),
        `${table}.${column}`,
      )
})

test('for a single node with a key file, one command rotates the key, and the file of the old key still opens old backups', async () => {
  const directory = await initializedDirectory()
  const node = await startPlatform({ directory })
  const keyFile = join(directory, 'keys', 'master.key')
  const before = readFileSync(keyFile, 'utf8')
  const backup = join(temporaryDirectory(), 'before.backup')
  assert.equal((await runCommand(['backup', backup], { directory })).code, 0)
  const { code, stdout, stderr } = await runCommand(['secrets', 'rotate'], { directory })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /The rotation is done/)
  assert.notEqual(readFileSync(keyFile, 'utf8'), before)
  assert.equal(readFileSync(join(directory, 'keys', 'master.key.old'), 'utf8'), before)
  assert.ok(!existsSync(join(directory, 'keys', 'master.key.next')))
  assert.equal((await client(node.managementUrl)('GET /health/ready')).body.status, 'ready')
  await node.asService(node.bootstrap.default)
  const after = join(temporaryDirectory(), 'after.backup')
  assert.equal((await runCommand(['backup', after], { directory })).code, 0)
  assert.equal(await node.kill('SIGTERM'), 0)
  const again = await startPlatform({ directory })
  await again.asService(again.bootstrap.default)
  assert.equal(await again.kill('SIGTERM'), 0)
  assert.notEqual((await runCommand(['restore', backup, '--yes'], { directory })).code, 0)
  const restored = await runCommand(
    ['restore', backup, '--yes', '--key-file', join(directory, 'keys', 'master.key.old')],
    { directory },
  )
  assert.equal(restored.code, 0, restored.stderr)
  assert.equal((await runCommand(['restore', after, '--yes'], { directory })).code, 0)
})
