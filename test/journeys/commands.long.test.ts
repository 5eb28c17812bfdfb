/** Tests the commands for operators while the platform runs, and while it does not run. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { client, requestToken } from '../harness/client.ts'
import { openCommands } from '../harness/commands.ts'
import { eventually } from '../harness/eventually.ts'
import { initializedDirectory, runCommand, startPlatform } from '../harness/platform.ts'

const directory = await initializedDirectory()

/** Runs a command in a separate process. */
const process = (...args: string[]) => runCommand(args, { directory })
const commands = openCommands()
const command = (...args: string[]) => commands(args, { directory })

test('users and API keys are created and revoked while the platform runs', async () => {
  const platform = await startPlatform({ directory })
  const { baseUrl, bootstrap } = platform
  const login = (username: string, password: string) =>
    requestToken(baseUrl, 'default', {
      grant_type: 'password',
      client_id: bootstrap.default.frontendClient.id,
      username,
      password,
    })

  const added = await process('user', 'add', 'ada', '--role', 'tenant-admin')
  assert.equal(added.code, 0, added.stderr)
  const first = added.stdout.match(/Password: (\S+)/)![1]!
  const token = await login('ada', first)
  assert.equal(token.status, 200)
  assert.match((await command('user', 'list')).stdout, /^ada$/m)
  const twice = await process('user', 'add', 'ada')
  assert.equal(twice.code, 1)
  assert.match(twice.stderr, /^waypost: .*ada.*\n$/)
  assert.match((await command('user', 'add', 'eve', '--role', 'nonsense')).stderr, /^waypost: .*nonsense/)

  const changed = await command('user', 'password', 'ada')
  const second = changed.stdout.match(/is now: (\S+)/)![1]!
  assert.equal((await login('ada', first)).status, 400)
  assert.equal((await login('ada', second)).status, 200)
  const asAda = client(baseUrl, { authorization: `Bearer ${token.body.access_token}` })
  assert.equal((await asAda('GET /iam/api/v1/me')).status, 401, 'a new password must end the open sessions of the user')

  const link = (await command('user', 'link', 'ada')).stdout.match(/\n(http\S+choose-password\?token=\S+)\n/)![1]!
  assert.equal(new URL(link).origin, new URL(baseUrl).origin)
  assert.match(await (await fetch(link)).text(), /for ada at/)
  assert.match((await command('user', 'link', 'nobody')).stderr, /there is no user nobody/)

  const created = await process('key', 'create', 'probe', '--scope', 'application:read')
  assert.equal(created.code, 0, created.stderr)
  const [, id, key] = created.stdout.match(/API key (\S+) of client \S+: (\S+)/)!
  const withKey = client(baseUrl, { 'x-identity-api-key': key! })
  assert.equal((await withKey('GET /api/v1/applications')).status, 200)
  assert.equal((await withKey('POST /api/v1/applications', { name: 'x' })).status, 403)
  assert.match((await command('key', 'list')).stdout, new RegExp(`^${id} {2}probe`, 'm'))

  const before = await client(baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')
  assert.equal((await command('key', 'rotate')).code, 0)
  // The command is another process. The platform shows the new key when it has received the signal of the command.
  await eventually(async () => {
    const after = await client(baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')
    assert.equal(after.body.keys.length, before.body.keys.length + 1)
  })

  assert.equal((await command('key', 'revoke', id!)).code, 0)
  assert.equal((await withKey('GET /api/v1/applications')).status, 401)
  const admin = await command('user', 'password', 'admin')
  const fresh = admin.stdout.match(/is now: (\S+)/)![1]!
  assert.equal((await login('admin', fresh)).status, 200)
  await eventually(() => {
    const credentials = JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8'))
    assert.deepEqual(credentials.default.admin, { username: 'admin' }, 'the file must not contain the old password')
  })
  await platform.kill('SIGTERM')
})

test('without a running platform, commands start the database themselves and stop it again', async () => {
  assert.match((await process('user', 'list', '--tenant', 'platform')).stdout, /^admin$/m)
  assert.match((await command('migrate')).stdout, /Nothing to do/)
  assert.equal((await command('user', 'remove', 'ada')).code, 0)
  const last = await command('user', 'remove', 'admin')
  assert.equal(last.code, 1, 'the command must not remove the last administrator')
  assert.match(last.stderr, /tenant-admin/)
})

test('a command reports an error, or its usage, without a stack trace', async () => {
  for (const [args, message] of [
    [['user'], /^usage: waypost user/],
    [['user', 'add'], /^usage: waypost user/],
    [['user', 'list', '--tenant', 'nobody'], /^waypost: there is no tenant nobody/],
    [['user', 'password', 'nobody'], /^waypost: there is no user nobody/],
    [['user', 'list', '--nonsense'], /^waypost: .*--nonsense/],
    [['key', 'create', 'x', '--expires', 'soon'], /^waypost: --expires: expected/],
    [['key', 'revoke', 'nothing'], /^waypost: API key nothing was not found/],
  ] as [string[], RegExp][]) {
    const { code, stderr } = await command(...args)
    assert.ok(code === 1 || code === 2, args.join(' '))
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /at .*\.ts:/, 'no stack')
  }
})

test('the settings and the API reference are printed', async () => {
  const shown = await commands(['config'], {
    directory,
    environment: { WAYPOST_MASTER_KEY: 'x'.repeat(40), WAYPOST_HOST: '127.0.0.2' },
  })
  assert.match(shown.stdout, /^WAYPOST_HOST +127\.0\.0\.2 +from environment$/m)
  assert.match(shown.stdout, /^WAYPOST_MASTER_KEY +\*{8} +from environment$/m)
  assert.match(shown.stdout, /^WAYPOST_DATABASE_URL +\(unset\) +default$/m)
  const document = JSON.parse((await command('openapi', '--base-url', 'https://iot.example')).stdout)
  assert.equal(document.servers[0].url, 'https://iot.example')
  assert.ok(Object.keys(document.paths).length > 80)
})
