/** Starting, stopping and starting again, as an operator sees it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { bearer, client, requestToken, tokenOf } from '../harness/client.ts'
import { throwAwayDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { runCommand, startPlatform } from '../harness/platform.ts'
import { isAlive, nameOf, treeOf } from '../harness/processes.ts'

describe('a platform on its own directory', async () => {
  const directory = throwAwayDirectory()

  test('restart keeps keys, secrets and refresh tokens', async () => {
    const first = await startPlatform({ directory })
    const { bootstrap } = first
    assert.equal(statSync(join(directory, 'bootstrap.json')).mode & 0o777, 0o600)
    const { admin, frontendClient, tenantId } = bootstrap.default
    const login = { grant_type: 'password', client_id: frontendClient.id, ...admin }
    const tokens = (await requestToken(first.baseUrl, tenantId, login)).body
    const certs = await client(first.baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')
    assert.equal(await first.kill('SIGTERM'), 0)

    const port = new URL(first.baseUrl).port
    const second = await startPlatform({ directory, environment: { WAYPOST_PORT: port } })
    assert.deepEqual(second.bootstrap, bootstrap)
    assert.equal(
      (await client(second.baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')).text,
      certs.text,
    )
    const me = await client(second.baseUrl, bearer(tokens.access_token))('GET /iam/api/v1/me')
    assert.equal(me.status, 200, 'an access token outlives the process')
    const refresh = { grant_type: 'refresh_token', client_id: frontendClient.id, refresh_token: tokens.refresh_token }
    assert.equal((await requestToken(second.baseUrl, tenantId, refresh)).status, 200)
    assert.equal(await second.kill('SIGINT'), 0)
  })

  test('a second process on the same directory is refused with a clear sentence, and the first goes on', async () => {
    const first = await startPlatform({ directory })
    const { code, stderr } = await runCommand(['start'], { directory })
    assert.equal(code, 1)
    assert.match(stderr, /^waypost: The data directory .* is in use by another Waypost process/)
    assert.equal((await fetch(`${first.managementUrl}/health/ready`)).status, 200)
    await first.kill('SIGTERM')
  })

  test('after kill -9 of the program alone, the next start needs no hand; of its database, not even a start', async () => {
    const first = await startPlatform({ directory })
    await first.kill('SIGKILL')
    const second = await startPlatform({ directory })
    const { id, secret } = second.bootstrap.default.backendClient
    const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    await tokenOf(second.baseUrl, 'default', grant)
    for (const pid of treeOf(second.process.pid!)) if (nameOf(pid).startsWith('postgres')) process.kill(pid, 'SIGKILL')
    const statuses = new Set<number>()
    await eventually(
      async () => {
        const { status } = await requestToken(second.baseUrl, 'default', grant)
        statuses.add(status)
        assert.equal(status, 200)
        assert.equal((await fetch(`${second.managementUrl}/health/ready`)).status, 200)
      },
      { withinMs: 20_000, everyMs: 50 },
    )
    for (const status of statuses) assert.ok(status === 200 || status === 503, `answered ${status} meanwhile`)
    assert.match(second.output(), /ended by itself \(exit code 137\); it is started again.*is back/s)
    assert.equal(await second.kill('SIGTERM'), 0)
  })

  test('SIGTERM finishes the request in flight, exits 0 within 10 s, and leaves no process', async () => {
    const platform = await startPlatform({ directory })
    const { id, secret } = platform.bootstrap.default.backendClient
    const token = await tokenOf(platform.baseUrl, 'default', {
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: secret,
    })
    const processes = treeOf(platform.process.pid!)
    const { hostname, port } = new URL(platform.baseUrl)
    const body = JSON.stringify({ name: 'in-flight' })
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `POST /api/v1/applications HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    const began = Date.now()
    const exit = platform.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 200))
    socket.write(body.slice(5))
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 201 /)
    assert.equal(await exit, 0)
    assert.ok(Date.now() - began < 10_000)
    await eventually(() => assert.deepEqual(processes.filter(isAlive), [], 'processes are still there'), {
      withinMs: 2000,
    })

    const again = await startPlatform({ directory })
    const ask = await again.asService(again.bootstrap.default)
    assert.equal((await ask('GET /api/v1/applications/in-flight')).status, 200)
    await again.kill('SIGTERM')
  })
})

test('two fresh directories share no secret', async () => {
  const [one, two] = await Promise.all([startPlatform(), startPlatform()])
  const secrets = [one, two].map(({ bootstrap }) => [
    bootstrap.platform.backendClient.secret,
    bootstrap.default.backendClient.secret,
    bootstrap.platform.admin.password,
    bootstrap.default.admin.password,
  ])
  assert.equal(new Set(secrets.flat()).size, 8)
  const keys = await Promise.all(
    [one, two].map(({ baseUrl }) => client(baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')),
  )
  assert.notEqual(keys[0]!.text, keys[1]!.text)
  await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')])
})

test('a wrong setting is refused with its name before anything is touched', async () => {
  const directory = join(throwAwayDirectory(), 'data')
  const { code, stderr } = await runCommand(['start'], { directory, environment: { WAYPOST_PROT: '1' } })
  assert.equal(code, 2)
  assert.equal(stderr, 'waypost: WAYPOST_PROT is not a setting of Waypost; the nearest is WAYPOST_PORT\n')
  assert.throws(() => statSync(directory), { code: 'ENOENT' })
})

test('a taken port is said, and the exit code tells', async () => {
  const first = await startPlatform()
  const { code, stderr } = await runCommand(['start'], { environment: { WAYPOST_PORT: new URL(first.baseUrl).port } })
  assert.equal(code, 1)
  assert.match(stderr, /^waypost: Port \d+ \(WAYPOST_PORT\) is in use; choose another\n$/)
  await first.kill('SIGTERM')
})

test('health, metrics and front pages answer; with authentication off, everybody is in tenant default', async () => {
  const platform = await startPlatform({ environment: { WAYPOST_AUTH: 'application' } })
  const manage = client(platform.managementUrl)
  assert.deepEqual((await manage('GET /health/live')).body, { status: 'live' })
  assert.equal((await manage('GET /health/ready')).body.status, 'ready')
  assert.equal((await manage('POST /metrics')).status, 405)

  const anybody = client(platform.baseUrl)
  assert.match((await anybody('GET /')).text, /Waypost/)
  assert.match((await anybody('GET /docs')).text, /swagger-ui-bundle\.js/)
  assert.equal((await anybody('GET /openapi.json')).body.openapi, '3.1.0')
  assert.equal((await anybody('POST /api/v1/applications', { name: 'open' })).status, 201)
  assert.equal((await anybody('GET /iam/api/v1/users')).status, 401, 'only the named service is open')
  assert.match(platform.output(), /AUTHENTICATION IS OFF/)
  assert.match((await manage('GET /metrics')).text, /^waypost_http_request_duration_seconds_count/m)
  const ask = await platform.asService(platform.bootstrap.default)
  assert.equal((await ask('GET /api/v1/applications/open')).status, 200)
  await platform.kill('SIGTERM')
})

test('the addresses are printed, and no secret is in the output', async () => {
  const platform = await startPlatform({ environment: { WAYPOST_LOG_LEVEL: 'trace' } })
  const ask = await platform.asService(platform.bootstrap.default)
  await ask('GET /api/v1/applications')
  await ask('POST /api/v1/applications', { name: 'pumps' })
  await ask('POST /api/v1/applications/pumps/app-versions', { nameSuffix: 'v1' })
  const endpointToken = 'what-only-the-pump-knows'
  const pump = (endpointId: string) => ({ endpointId, endpointToken, appVersion: { name: 'pumps-v1' } })
  const register = async (endpointId: string) => (await ask('POST /epr/api/v1/endpoints', pump(endpointId))).status
  assert.deepEqual([await register('one'), await register('two'), await register('one')], [201, 409, 409])
  const again = { token: endpointToken, applicationName: 'pumps' }
  assert.equal((await ask('POST /api/v1/endpoints/one/tokens', again)).status, 409)
  const { appVersion, ...third } = pump('three')
  const batch = await ask('POST /epr/api/v1/endpoints/batch', { appVersion, endpoints: [third] })
  await eventually(async () => {
    const { body } = await ask(`GET /epr/api/v1/endpoints/batch/status?taskId=${batch.body.taskId}`)
    assert.equal(body.failedCount, 1)
  })
  await platform.kill('SIGTERM')
  const output = platform.output()
  assert.ok(output.includes(platform.baseUrl))
  assert.match(output, /epr\/api\/v1\/endpoints.*409/, 'the refusals are in the output')
  assert.ok(!output.includes(endpointToken), 'the token of an endpoint was logged')
  const bootstrap = readFileSync(join(platform.directory, 'bootstrap.json'), 'utf8')
  for (const [, secret] of bootstrap.matchAll(/"(?:secret|password)": "([^"]+)"/g))
    assert.ok(!output.includes(secret!), 'a secret was logged')
  assert.doesNotMatch(output, /eyJ[\w-]+\.[\w-]+\.[\w-]+/, 'a token was logged')
})
