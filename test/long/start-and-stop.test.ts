/** Starts, stops and restarts the platform as an operator does. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { bearer, client, requestToken, tokenOf } from '../harness/client.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { initializedDirectory, type RunningPlatform, runCommand, startPlatform } from '../harness/platform.ts'
import { isAlive, nameOf, processTree } from '../harness/processes.ts'

/** These tests run in sequence on the same data directory; each test depends on the tests before it. */
describe('a platform with its own data directory', () => {
  const directory = temporaryDirectory()
  const certificatesOf = async ({ baseUrl }: RunningPlatform) =>
    (await client(baseUrl)('GET /auth/realms/default/protocol/openid-connect/certs')).text
  let first: RunningPlatform
  let second: RunningPlatform
  let port: string
  let certificates: string
  // biome-ignore lint/suspicious/noExplicitAny: the response of the token endpoint
  let tokens: any

  test('the first start writes secrets that only the owner of the files can read, and each directory gets different secrets', async () => {
    let other: RunningPlatform
    ;[first, other] = await Promise.all([
      startPlatform({ directory, sources: true }),
      startPlatform({ directory: temporaryDirectory() }),
    ])
    assert.equal(statSync(join(directory, 'bootstrap.json')).mode & 0o777, 0o600)
    const secrets = [first, other].map(({ bootstrap }) => [
      bootstrap.platform.backendClient.secret,
      bootstrap.default.backendClient.secret,
      bootstrap.platform.admin.password,
      bootstrap.default.admin.password,
    ])
    assert.equal(new Set(secrets.flat()).size, 8)
    const link = await eventually(() => {
      const found = first.output().match(/\n {2}(http\S+\/account\/choose-password\?token=[\w-]{43})\n/)
      assert.ok(found, first.output())
      return found[1]!
    })
    assert.match(await (await fetch(link)).text(), /for admin at/)
    const logged = first
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    assert.ok(logged.length > 0 && !logged.some((line) => line.includes('choose-password')))
    certificates = await certificatesOf(first)
    assert.notEqual(certificates, await certificatesOf(other))
    await other.kill('SIGTERM')
    port = new URL(first.baseUrl).port
  })

  test('a second process on the same directory exits with a clear message, and the first process keeps running', async () => {
    const { code, stderr } = await runCommand(['start'], { directory })
    assert.equal(code, 1)
    assert.match(stderr, /^waypost: The data directory .* is in use by another Waypost process/)
    assert.equal((await fetch(`${first.managementUrl}/health/ready`)).status, 200)
  })

  test('a start on a port that is in use fails with an exit code and a message', async () => {
    const { code, stderr } = await runCommand(['start'], {
      directory: await initializedDirectory(),
      environment: { WAYPOST_PORT: port },
    })
    assert.equal(code, 1)
    assert.match(stderr, /^waypost: Port \d+ \(WAYPOST_PORT\) is in use; choose another port\n$/)
  })

  test('an unreadable source file ends the program and its database', async () => {
    const broken = `import { registerHooks } from 'node:module'
      registerHooks({ load: (url, context, next) => {
        if (url.endsWith(process.env.BROKEN)) throw new Error('this file is broken')
        return next(url, context)
      } })`
    for (const file of ['assembly/catalogue.ts', 'assembly/start.ts']) {
      const { code, stderr } = await runCommand(['start'], {
        directory: await initializedDirectory(),
        sources: true,
        environment: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(broken)}`, BROKEN: file },
      })
      assert.equal(code, 1)
      assert.match(stderr, /^waypost: this file is broken\n$/)
    }
  })

  test('SIGTERM finishes the request in flight, exits 0 within 10 s, and leaves no process', async () => {
    const { admin, frontendClient, tenantId } = first.bootstrap.default
    const login = { grant_type: 'password', client_id: frontendClient.id, ...admin }
    tokens = (await requestToken(first.baseUrl, tenantId, login)).body
    const { authorization } = await first.authorizationOf(first.bootstrap.default)
    const processes = processTree(first.process.pid!)
    const body = JSON.stringify({ name: 'in-flight' })
    const socket = connect(Number(port), new URL(first.baseUrl).hostname)
    await once(socket, 'connect')
    socket.write(
      `POST /api/v1/applications HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    const began = Date.now()
    const exit = first.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 200))
    socket.write(body.slice(5))
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 201 /)
    assert.equal(await exit, 0)
    assert.ok(Date.now() - began < 10_000)
    await eventually(() => assert.deepEqual(processes.filter(isAlive), [], 'all processes must end'), {
      withinMs: 2000,
    })
  })

  test('a restart keeps keys, secrets, refresh tokens and the changes of requests that completed during the stop', async () => {
    second = await startPlatform({ directory, environment: { WAYPOST_PORT: port } })
    assert.deepEqual(second.bootstrap, first.bootstrap)
    assert.ok(!second.output().includes('choose-password'))
    assert.equal(await certificatesOf(second), certificates)
    const me = await client(second.baseUrl, bearer(tokens.access_token))('GET /iam/api/v1/me')
    assert.equal(me.status, 200, 'the access token must be accepted after the restart')
    const { frontendClient, tenantId } = second.bootstrap.default
    const refresh = { grant_type: 'refresh_token', client_id: frontendClient.id, refresh_token: tokens.refresh_token }
    assert.equal((await requestToken(second.baseUrl, tenantId, refresh)).status, 200)
    const ask = await second.asService(second.bootstrap.default)
    assert.equal((await ask('GET /api/v1/applications/in-flight')).status, 200)
  })

  test('after kill -9 of the program, the next start succeeds; after kill -9 of its database, the program recovers without a restart', async () => {
    await second.kill('SIGKILL')
    const third = await startPlatform({ directory })
    const { id, secret } = third.bootstrap.default.backendClient
    const grant = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    await tokenOf(third.baseUrl, 'default', grant)
    for (const pid of processTree(third.process.pid!))
      if (nameOf(pid).startsWith('postgres')) process.kill(pid, 'SIGKILL')
    const statuses = new Set<number>()
    await eventually(
      async () => {
        const { status } = await requestToken(third.baseUrl, 'default', grant)
        statuses.add(status)
        assert.equal(status, 200)
        assert.equal((await fetch(`${third.managementUrl}/health/ready`)).status, 200)
      },
      { withinMs: 20_000, everyMs: 50 },
    )
    for (const status of statuses)
      assert.ok(
        status === 200 || status === 503,
        `while the database is down, a request must be answered with 200 or 503, not with ${status}`,
      )
    assert.match(third.output(), /exited by itself \(exit code 137\); restarting it.*is running again/s)
    assert.equal(await third.kill('SIGINT'), 0)
  })
})

test('an unknown setting is reported with the most similar known setting before anything is written', async () => {
  const directory = join(temporaryDirectory(), 'data')
  const { code, stderr } = await runCommand(['start'], { directory, environment: { WAYPOST_PROT: '1' } })
  assert.equal(code, 2)
  assert.equal(stderr, 'waypost: WAYPOST_PROT is not a setting of Waypost; the nearest is WAYPOST_PORT\n')
  assert.throws(() => statSync(directory), { code: 'ENOENT' })
})

describe('a platform with log level trace, and without authentication for one service', () => {
  let platform: RunningPlatform
  before(async () => {
    const environment = {
      WAYPOST_AUTH: 'application',
      WAYPOST_LOG_LEVEL: 'trace',
      WAYPOST_NATS_URL: 'nats://localhost',
    }
    platform = await startPlatform({ environment })
  })

  test('health, metrics and front pages respond; with authentication off, every caller belongs to tenant default', async () => {
    const manage = client(platform.managementUrl)
    assert.deepEqual((await manage('GET /health/live')).body, { status: 'live' })
    assert.equal((await manage('GET /health/ready')).body.status, 'ready')
    assert.equal((await manage('POST /metrics')).status, 405)

    const anonymous = client(platform.baseUrl)
    assert.match((await anonymous('GET /')).text, /Waypost/)
    assert.match((await anonymous('GET /docs')).text, /swagger-ui-bundle\.js/)
    assert.equal((await anonymous('GET /openapi.json')).body.openapi, '3.1.0')
    assert.equal((await anonymous('POST /api/v1/applications', { name: 'open' })).status, 201)
    assert.equal((await anonymous('GET /iam/api/v1/users')).status, 401, 'other services must require authentication')
    assert.match(platform.output(), /AUTHENTICATION IS OFF/)
    assert.match(platform.output(), /does not use NATS/)
    assert.match((await manage('GET /metrics')).text, /^waypost_http_request_duration_seconds_count/m)
    const ask = await platform.asService(platform.bootstrap.default)
    assert.equal((await ask('GET /api/v1/applications/open')).status, 200)
  })

  test('the addresses are printed, and no secret is in the output', async () => {
    const ask = await platform.asService(platform.bootstrap.default)
    await ask('GET /api/v1/applications')
    await ask('POST /api/v1/applications', { name: 'pumps' })
    await ask('POST /api/v1/applications/pumps/app-versions', { nameSuffix: 'v1' })
    const endpointToken = 'what-only-the-pump-knows'
    const pump = (endpointId: string) => ({ endpointId, endpointToken, appVersion: { name: 'pumps-v1' } })
    const register = async (endpointId: string) => (await ask('POST /epr/api/v1/endpoints', pump(endpointId))).status
    assert.deepEqual([await register('one'), await register('two'), await register('one')], [201, 409, 409])
    const sameToken = { token: endpointToken, applicationName: 'pumps' }
    assert.equal((await ask('POST /api/v1/endpoints/one/tokens', sameToken)).status, 409)
    const { appVersion, ...third } = pump('three')
    const batch = await ask('POST /epr/api/v1/endpoints/batch', { appVersion, endpoints: [third] })
    await eventually(async () => {
      const { body } = await ask(`GET /epr/api/v1/endpoints/batch/status?taskId=${batch.body.taskId}`)
      assert.equal(body.failedCount, 1)
    })
    await platform.kill('SIGTERM')
    const output = platform.output()
    assert.ok(output.includes(platform.baseUrl))
    assert.match(output, /epr\/api\/v1\/endpoints.*409/, 'the output must contain the rejected requests')
    assert.ok(!output.includes(endpointToken), 'the token of an endpoint must not be logged')
    const bootstrap = readFileSync(join(platform.directory, 'bootstrap.json'), 'utf8')
    for (const [, secret] of bootstrap.matchAll(/"(?:secret|password)": "([^"]+)"/g))
      assert.ok(!output.includes(secret!), 'no secret must be logged')
    assert.doesNotMatch(output, /eyJ[\w-]+\.[\w-]+\.[\w-]+/, 'no token must be logged')
  })
})
