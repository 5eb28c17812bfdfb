import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connected } from '../../test/harness/mqtt-raw.ts'

// A hundred wrong tokens or ten wrong passwords lock an address; all clients of these tests have the same address.
const open = () =>
  openGateway({ environment: { WAYPOST_LOG_LEVEL: 'fatal', WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '10' } })

type Gate = Awaited<ReturnType<typeof open>>

const portOf = (url: string) => Number(new URL(url).port)
const post = async ({ httpUrl }: Gate, topic: string) =>
  (await fetch(`${httpUrl}/${topic}`, { method: 'POST', body: '{}' })).status

test('a client with a valid token that tries wrong tokens is locked out; tokens that its address has used before still work', async () => {
  const fixture = await open()
  const [own, sameAddress, overHttp, late] = await Promise.all(
    Array.from({ length: 4 }, () => fixture.aProvisionedEndpoint()),
  )
  const sensor = await fixture.device()
  await sensor.publish(`${own!.prefix}/json`)
  const other = await fixture.device()
  await other.publish(`${sameAddress!.prefix}/json`)
  await other.end()
  assert.equal(await post(fixture, `${overHttp!.prefix}/json`), 200)

  await Promise.all(Array.from({ length: 120 }, (_, index) => sensor.publish(`${own!.prefix}${index}/json`)))
  await sensor.publish(`${late!.prefix}/json/1`)
  assert.equal((await sensor.receives(`${late!.prefix}/json/1/error`)).json.statusCode, 429)
  assert.equal(await post(fixture, `${late!.prefix}/json`), 429)
  const anonymous = await fixture.device()
  anonymous.publish(`${late!.prefix}/json`).catch(() => {})
  await anonymous.closed()

  await sensor.publish(`${own!.prefix}/json/2`)
  await sensor.receives(`${own!.prefix}/json/2/status`)
  assert.equal(await post(fixture, `${overHttp!.prefix}/json`), 200)
  const again = await fixture.device()
  await again.publish(`${sameAddress!.prefix}/json/3`)
  await again.receives(`${sameAddress!.prefix}/json/3/status`)
})

test('wrong tokens in subscriptions count for the lockout', async () => {
  const fixture = await open()
  const { prefix } = await fixture.aProvisionedEndpoint()
  const client = await connected(portOf(fixture.mqttUrl))
  const subscriptions = Array.from({ length: 120 }, (_, index) => ({
    topic: `${prefix}${index}/json`,
    qos: 0 as const,
  }))
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions })
  await client.next('suback')
  await eventually(async () => assert.equal(await post(fixture, `${prefix}new/json`), 429))
})

test('a device that repeats the same old token or password does not lock out the other devices at its address', async () => {
  const fixture = await open()
  const { prefix } = await fixture.aProvisionedEndpoint()
  for (let i = 0; i < 120; i++) assert.equal(await post(fixture, `${prefix}old/json`), 401)
  assert.equal(await post(fixture, `${prefix}/json`), 200)

  const { username, password } = await fixture.aBasicCredential()
  const login = (secret: string) => fixture.device({ username: `${username}@default`, password: secret })
  for (let i = 0; i < 12; i++) await assert.rejects(login('old'), /Bad username or password/i)
  await (await login(password)).end()
  for (let i = 0; i < 10; i++) await assert.rejects(login(`guess ${i}`))
  const late = await fixture.aBasicCredential()
  await assert.rejects(fixture.device({ username: `${late.username}@default`, password: late.password }))
  await (await login(password)).end()
})

test('the server reads more slowly from a client that subscribes faster than endpoints can be looked up', async () => {
  const fixture = await open()
  const { prefix } = await fixture.aProvisionedEndpoint()
  const packets = Array.from({ length: 40 }, (_, packet) =>
    Array.from({ length: 100 }, (_, index) => `${prefix}${packet}-${index}/json`),
  ).flatMap((filters, packet) => [
    {
      cmd: 'subscribe' as const,
      messageId: 2 * packet + 1,
      subscriptions: filters.map((topic) => ({ topic, qos: 0 as const })),
    },
    { cmd: 'unsubscribe' as const, messageId: 2 * packet + 2, unsubscriptions: filters },
  ])
  const client = await connected(portOf(fixture.mqttUrl))
  const acknowledged = () => client.received.filter(({ cmd }) => cmd === 'suback').length
  await fixture.waypost.kit.db.tx(async (sql) => {
    await sql`lock table tokens.tokens in access exclusive mode`
    client.send(...packets)
    await eventually(() => assert.ok(acknowledged() >= 10))
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(acknowledged() < 20, `${acknowledged()} subscriptions were acknowledged while the lookup was blocked`)
  })
  await eventually(() => assert.equal(acknowledged(), 40))
})

test('records of refusals never contain a token, even if the topic is misspelt', async () => {
  const fixture = await open()
  const { version, token } = await fixture.aProvisionedEndpoint()
  const sensor = await fixture.device({ clientId: 'slipped' })
  for (const topic of [`${token}/json`, `/kp1/${version}/test/${token}/json`, `KP1/${version}/test/${token}/json`])
    await sensor.publish(topic)
  await sensor.publish(`kp1/${version}/${token}`)
  await eventually(async () => {
    const rows = await fixture.waypost.kit.db.sql`
      select count, detail, refusals::text as all from traffic_log.refusals where client_id = 'slipped'`
    assert.equal(
      rows.reduce((sum, { count }) => sum + Number(count), 0),
      4,
    )
    assert.deepEqual(
      rows.filter(({ all }) => all.includes(token)),
      [],
    )
  })
})

/**
 * Opens a gateway behind a proxy. The proxy appends the address of the client to the header `X-Forwarded-For`. Earlier entries of this
 * header may be forged.
 */
const behindAProxy = () =>
  openGateway({
    environment: {
      WAYPOST_LOG_LEVEL: 'fatal',
      WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '3',
      WAYPOST_TRUST_PROXY: '1',
    },
  })
const [attacker, victim] = ['198.51.100.66', '192.0.2.1']

test('HTTP behind a proxy: a client cannot avoid its lockout or lock out another address with forged entries', async () => {
  const fixture = await behindAProxy()
  const { prefix } = await fixture.aProvisionedEndpoint()
  const send = async (topic: string, forwarded: string) =>
    (
      await fetch(`${fixture.httpUrl}/${topic}`, {
        method: 'POST',
        body: '{}',
        headers: { 'x-forwarded-for': forwarded },
      })
    ).status
  const statuses = []
  for (let i = 0; i < 40; i++) statuses.push(await send(`${prefix}${i}/json`, `${victim}, 203.0.113.${i}, ${attacker}`))
  assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429])
  assert.equal(
    await send(`${prefix}/json`, `203.0.113.77, ${attacker}`),
    429,
    'a forged leftmost address must not avoid the lockout',
  )
  assert.equal(await send(`${prefix}/json`, victim), 200, 'the address in the forged entry must not be locked out')
})

test('WebSocket behind a proxy: a client cannot avoid its lockout or lock out another address with forged entries', async () => {
  const fixture = await behindAProxy()
  const { username, password } = await fixture.aBasicCredential()
  const logIn = (secret: string, forwarded: string) =>
    aDevice(`${fixture.wsUrl}/mqtt`, {
      username: `${username}@default`,
      password: secret,
      wsOptions: { headers: { 'x-forwarded-for': forwarded } },
    })
  for (let i = 0; i < 5; i++) await assert.rejects(logIn(`guess ${i}`, `${victim}, 203.0.113.${i}, ${attacker}`))
  await assert.rejects(
    logIn(password, `203.0.113.77, ${attacker}`),
    'a forged leftmost address must not avoid the lockout',
  )
  await (await logIn(password, `203.0.113.77, ${victim}`)).end()
})
