import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { afterAllTests, freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { connected, type RawClient } from '../../../test/harness/mqtt-raw.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'
import { sleep, systemClock } from '../../kernel/clock.ts'
import { connect as connectDatabase, createDb } from '../../kernel/db.ts'
import { migrate, readMigrations } from '../../kernel/migrate.ts'
import { createSecrets } from '../../kernel/secrets.ts'
import { singleNodeClaims } from '../session-claims.ts'
import { sweepSessions } from '../store/session-writes.ts'
import { createSessionStore } from '../store/sessions.ts'
import type { Host, Message, Qos } from './host.ts'
import { defaultLimits, type Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

const message = (topic: string, qos: Qos = 1, more: Partial<Message> = {}): Message => ({
  topic,
  payload: Buffer.from(`${topic}!`),
  qos,
  ...more,
})

async function openDatabase() {
  const connection = await freshDatabase()
  const pool = connectDatabase(connection, { max: 1 })
  const directory = fileURLToPath(new URL('../migrations/', import.meta.url))
  await migrate(pool, readMigrations([{ module: 'gateway', directory }]))
  await pool.end()
  const database = createDb(connection, { max: 4 })
  afterAllTests(database.close)
  return database
}

const db = await openDatabase()
const secrets = createSecrets(Buffer.alloc(32, 7))
let now = systemClock

/** Creates a new MQTT layer on the same database, as a restart does. */
const aNewProcess = (limits: Partial<Limits> = {}, host: Partial<Host> = {}) =>
  openMqttServer({
    host,
    store: createSessionStore(
      { db, secrets, now: () => now(), log: pino({ level: 'silent' }), claims: singleNodeClaims('this') },
      { ...defaultLimits, ...limits },
    ),
    limits,
  })

let names = 0
const aName = () => `client-${++names}`
const key = (clientId: string) => `owner\u001f${clientId}`

async function subscribe(client: RawClient, topic: string, qos: Qos = 1) {
  client.send({ cmd: 'subscribe', messageId: 999, subscriptions: [{ topic, qos }] })
  await client.next('suback')
}

async function leave(client: RawClient, waypost: { connections: Map<string, { open: boolean }> }, clientId: string) {
  client.destroy()
  await eventually(() => assert.equal(waypost.connections.get(clientId)!.open, false))
}

test('a session survives the connection and the process: subscriptions, unacknowledged and queued messages', async () => {
  const clientId = aName()
  const options = { clientId, clean: false }
  const before = await aNewProcess({ inFlightMax: 2 })
  const client = await connected(before.port, options)
  assert.equal(client.connack.sessionPresent, false)
  await subscribe(client, 'kp1/+/secret-token/#', 2)
  const properties = { contentType: 'text/plain', correlationData: Buffer.from('c'), userProperties: { a: '1' } }
  for (const [index, qos] of ([1, 2, 2, 1] as const).entries())
    before.connections.get(clientId)!.send(message(`kp1/a/secret-token/${index}`, qos, { properties }))
  const [, second] = [await client.next('publish'), await client.next('publish')]
  client.send({ cmd: 'pubrec', messageId: second.messageId! })
  await client.next('pubrel')
  await leave(client, before, clientId)
  assert.equal(await before.sessions.deliver(key(clientId), message('kp1/a/secret-token/4', 2)), 'queued')
  await before.close()

  const after = await aNewProcess()
  assert.equal(await after.sessions.deliver(key(clientId), message('kp1/a/secret-token/5', 1)), 'queued')
  const again = await connected(after.port, options)
  assert.equal(again.connack.sessionPresent, true)
  assert.deepEqual(after.present.get(clientId), { present: true, subscriptions: ['kp1/+/secret-token/#'] })
  const first = await again.next('publish')
  assert.deepEqual([first.topic, first.dup, first.messageId], ['kp1/a/secret-token/0', true, 1])
  assert.equal((await again.next('pubrel')).messageId, 2)
  const rest = [2, 3, 4, 5].map(() => again.next('publish'))
  const seen = (await Promise.all(rest)).map(({ topic, dup, qos, payload }) => [topic.at(-1), dup, qos, `${payload}`])
  assert.deepEqual(seen, [
    ['2', false, 2, 'kp1/a/secret-token/2!'],
    ['3', false, 1, 'kp1/a/secret-token/3!'],
    ['4', false, 2, 'kp1/a/secret-token/4!'],
    ['5', false, 1, 'kp1/a/secret-token/5!'],
  ])
  assert.equal(new Set(again.received.flatMap((packet) => packet.messageId ?? [])).size, 6)
})

test('messages that the host no longer permits are dropped, both for connected and for reconnecting clients', async () => {
  const clientId = aName()
  const options = { clientId, clean: false }
  const withdrawn = new Set<string>()
  const mayDeliver = async (_: unknown, messages: Message[]) =>
    messages.map(({ recipientId }) => !withdrawn.has(recipientId ?? ''))
  const before = await aNewProcess({ inFlightMax: 2 }, { mayDeliver })
  const client = await connected(before.port, options)
  await subscribe(client, '#')
  const connection = before.connections.get(clientId)!
  for (const [index, recipientId] of ['x', 'y', 'x', 'y', 'x'].entries())
    connection.send(message(`live/${index}`, 1, { recipientId }))
  const sent = [await client.next('publish'), await client.next('publish')]
  withdrawn.add('x')
  before.sessions.recheck()
  await sleep(150)
  client.send({ cmd: 'puback', messageId: sent[1]!.messageId! })
  assert.equal((await client.next('publish')).topic, 'live/3')
  withdrawn.clear()
  await leave(client, before, clientId)
  for (const recipientId of ['x', 'y'])
    assert.equal(
      await before.sessions.deliver(key(clientId), message(`away/${recipientId}`, 1, { recipientId })),
      'queued',
    )
  await before.close()

  // The message live/0 was sent but not acknowledged. It is also dropped instead of being sent again.
  withdrawn.add('x')
  const after = await aNewProcess({}, { mayDeliver })
  const again = await connected(after.port, options)
  assert.deepEqual([(await again.next('publish')).topic, (await again.next('publish')).topic], ['live/3', 'away/y'])
  await eventually(async () => {
    const [row] = await db.sql`select count(*) from gateway.session_messages where session_key = ${key(clientId)}`
    assert.equal(row!.count, 2)
  })
})

test('only unacknowledged messages are sent again, even after a crash', async () => {
  const clientId = aName()
  const options = { clientId, clean: false }
  const crashing = await aNewProcess()
  const client = await connected(crashing.port, options)
  await subscribe(client, '#')
  await leave(client, crashing, clientId)
  for (const topic of ['a', 'b']) assert.equal(await crashing.sessions.deliver(key(clientId), message(topic)), 'queued')
  const returned = await connected(crashing.port, options)
  const first = await returned.next('publish')
  await returned.next('publish')
  returned.send({ cmd: 'puback', messageId: first.messageId! })
  await eventually(async () => {
    const [row] = await db.sql`select count(*) from gateway.session_messages where session_key = ${key(clientId)}`
    assert.equal(row!.count, 1)
  })
  // The old MQTT layer still has the open connection. The new layer has no record of this connection.
  const after = await aNewProcess()
  const again = await connected(after.port, options)
  assert.equal((await again.next('publish')).topic, 'b')
})

test('session data in the tables is encrypted', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const client = await connected(waypost.port, { clientId, clean: false })
  await subscribe(client, 'kp1/v1/test/very-secret/#')
  await leave(client, waypost, clientId)
  await waypost.sessions.deliver(key(clientId), message('kp1/v1/test/very-secret/json', 1))
  const rows = [
    ...(await db.sql`select * from gateway.sessions`),
    ...(await db.sql`select * from gateway.session_messages`),
  ]
  assert.ok(rows.length >= 2)
  assert.doesNotMatch(JSON.stringify(rows), /very-secret|kp1\//)
})

test('only messages that match a subscription are queued, with the granted QoS and within the limits', async () => {
  const clientId = aName()
  const waypost = await aNewProcess({ queuedMessagesMax: 3, queuedBytesMax: 1000 })
  const { deliver } = waypost.sessions
  const client = await connected(waypost.port, { clientId, clean: false })
  await subscribe(client, 'a/+', 1)
  await subscribe(client, 'zero', 0)
  await leave(client, waypost, clientId)
  assert.equal(await deliver(key('nobody'), message('a/b')), 'gone')
  assert.equal(await deliver(key(clientId), message('b')), 'gone')
  assert.equal(await deliver(key(clientId), message('zero')), 'gone')
  assert.equal(await deliver(key(clientId), message('a/b', 0)), 'gone')
  assert.equal(await deliver(key(clientId), message('a/b', 1, { payload: Buffer.alloc(1000) })), 'full')
  const outcomes = await Promise.all([1, 2, 3, 4].map((index) => deliver(key(clientId), message(`a/${index}`, 2))))
  assert.deepEqual(outcomes, ['queued', 'queued', 'queued', 'full'])
  const again = await connected(waypost.port, { clientId, clean: false })
  for (const index of [1, 2, 3]) {
    const { topic, qos } = await again.next('publish')
    assert.deepEqual([topic, qos], [`a/${index}`, 1])
  }
})

test('a clean start discards the session', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const client = await connected(waypost.port, { clientId, clean: false })
  await subscribe(client, '#')
  await leave(client, waypost, clientId)
  await waypost.sessions.deliver(key(clientId), message('a'))
  const clean = await connected(waypost.port, { clientId, clean: true })
  assert.equal(clean.connack.sessionPresent, false)
  await leave(clean, waypost, clientId)
  assert.equal(await waypost.sessions.deliver(key(clientId), message('a')), 'gone')
  assert.equal((await connected(waypost.port, { clientId, clean: false })).connack.sessionPresent, false)
})

test('the expiry of a session counts from the end of its connection, and can be changed with DISCONNECT', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const connectWithExpiry = (sessionExpiryInterval: number) =>
    connected(waypost.port, { clientId, clean: false, protocolVersion: 5, properties: { sessionExpiryInterval } })
  const endWithDisconnect = async (client: RawClient, sessionExpiryInterval?: number) => {
    const properties = sessionExpiryInterval === undefined ? {} : { properties: { sessionExpiryInterval } }
    client.send({ cmd: 'disconnect', reasonCode: 0, ...properties })
    await client.closed()
  }
  const offset = { seconds: 0 }
  now = () => new Date(Date.now() + offset.seconds * 1000)
  await endWithDisconnect(await connectWithExpiry(100))
  offset.seconds = 90
  const second = await connectWithExpiry(100)
  assert.equal(second.connack.sessionPresent, true)
  await endWithDisconnect(second, 1000)
  offset.seconds = 1000
  const third = await connectWithExpiry(100)
  assert.equal(third.connack.sessionPresent, true)
  await endWithDisconnect(third, 0)
  const fourth = await connectWithExpiry(0)
  assert.equal(fourth.connack.sessionPresent, false)
  fourth.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 5 } })
  assert.equal((await fourth.next('disconnect')).reasonCode, 0x82)
  now = systemClock
})

test('expired sessions and messages are deleted from the tables', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const options = { clientId, clean: false, protocolVersion: 5 as const, properties: { sessionExpiryInterval: 100 } }
  const client = await connected(waypost.port, options)
  await subscribe(client, '#')
  await leave(client, waypost, clientId)
  await waypost.sessions.deliver(key(clientId), message('a', 1, { properties: { messageExpiryInterval: 10 } }))
  const count = async () => {
    const [row] = await db.sql`
      select (select count(*) from gateway.sessions where session_key = ${key(clientId)}) as sessions,
        (select count(*) from gateway.session_messages where session_key = ${key(clientId)}) as messages`
    return [row!.sessions, row!.messages]
  }
  assert.deepEqual(await count(), [1, 1])
  await sweepSessions(db.sql, new Date(Date.now() + 20_000), 3600)
  assert.deepEqual(await count(), [1, 0])
  await sweepSessions(db.sql, new Date(Date.now() + 200_000), 3600)
  assert.deepEqual(await count(), [0, 0])
})

test('a QoS 2 message is handled once, even if connection and node change before PUBREL', async () => {
  const clientId = aName()
  const publish = { cmd: 'publish', topic: 't', payload: 'x', qos: 2, messageId: 5, retain: false } as const
  const before = await aNewProcess()
  const client = await connected(before.port, { clientId, clean: false })
  client.send({ ...publish, dup: false })
  await client.next('pubrec')
  await leave(client, before, clientId)
  await before.close()
  const after = await aNewProcess()
  const again = await connected(after.port, { clientId, clean: false })
  again.send({ ...publish, dup: true }, { cmd: 'pubrel', messageId: 5 })
  await again.next('pubrec')
  await again.next('pubcomp')
  assert.deepEqual([before.published.length, after.published.length], [1, 0])
  await leave(again, after, clientId)
  const last = await connected(after.port, { clientId, clean: false })
  last.send({ ...publish, dup: false })
  await last.next('pubrec')
  assert.equal(after.published.length, 1)
})

test('a new connection with the same key takes over the session with its messages', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const old = await connected(waypost.port, {
    clientId,
    clean: false,
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 60 },
  })
  waypost.connections.get(clientId)!.send(message('a'))
  await old.next('publish')
  const fresh = await connected(waypost.port, { clientId, clean: false })
  assert.equal(fresh.connack.sessionPresent, true)
  assert.equal((await old.next('disconnect')).reasonCode, 0x8e)
  await old.closed()
  assert.deepEqual(
    waypost.disconnected.map(({ graceful }) => graceful),
    [false],
  )
  assert.equal((await fresh.next('publish')).dup, true)
  assert.equal(await waypost.sessions.deliver(key(clientId), message('b')), 'sent')
  assert.equal((await fresh.next('publish')).topic, 'b')
})

test('many concurrent CONNECTs with one key leave one connection and lose no message', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const first = await connected(waypost.port, { clientId, clean: false })
  await subscribe(first, '#')
  await leave(first, waypost, clientId)
  await waypost.sessions.deliver(key(clientId), message('kept'))
  const all = await Promise.allSettled(
    Array.from({ length: 10 }, () => connected(waypost.port, { clientId, clean: false })),
  )
  const open = () => [...waypost.sockets].filter((socket) => !socket.destroyed).length
  await eventually(() => assert.equal(waypost.sessions.count(), 1), { withinMs: 5000 })
  assert.equal(open(), 1)
  const winner = all.find(
    (one) => one.status === 'fulfilled' && !one.value.socket.destroyed && !one.value.socket.readableEnded,
  )
  assert.ok(winner?.status === 'fulfilled')
  assert.equal((await winner.value.next('publish')).topic, 'kept')
})

test('a client cannot take over the session of another owner', async () => {
  let owner = 'first'
  const { port, disconnected, sessions } = await openMqttServer({
    host: { connect: async () => ({ accepted: true, owner }) },
  })
  await connected(port, { clientId: 'counter' })
  owner = 'second'
  await connected(port, { clientId: 'counter' })
  assert.equal(sessions.count(), 2)
  assert.deepEqual(disconnected, [])
})

test('a client whose session cannot be loaded is refused with "unavailable"', async () => {
  const broken: SessionStore = {
    claim: () => Promise.reject(new Error('unreachable')),
    load: () => Promise.reject(new Error('unreachable')),
    save: () => Promise.reject(new Error('unreachable')),
    leave: () => Promise.reject(new Error('unreachable')),
    discard: () => Promise.reject(new Error('unreachable')),
    removeHolder() {},
    release() {},
    restoreHolders: () => Promise.reject(new Error('unreachable')),
    enqueue: () => Promise.reject(new Error('unreachable')),
    deleteMessage() {},
    touch: () => Promise.reject(new Error('unreachable')),
    close: async () => {},
  }
  const { port, sessions } = await openMqttServer({ store: broken })
  const { connack, closed } = await connected(port, { clean: false })
  assert.equal(connack.returnCode, 3)
  await closed()
  await assert.rejects(sessions.deliver(key('client'), message('a')))
})

test('a message for a session that is being opened waits until the session is open', async () => {
  const clientId = aName()
  const waypost = await aNewProcess()
  const first = await connected(waypost.port, { clientId, clean: false })
  await subscribe(first, '#')
  await leave(first, waypost, clientId)
  const opening = connected(waypost.port, { clientId, clean: false })
  const outcomes: string[] = []
  while (outcomes.at(-1) !== 'sent') {
    outcomes.push(await waypost.sessions.deliver(key(clientId), message(`${outcomes.length}`)))
    await sleep(0)
  }
  const client = await opening
  for (const index of outcomes.keys()) assert.equal((await client.next('publish')).topic, `${index}`)
})
