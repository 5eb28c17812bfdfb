import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase, kernelMigrated } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createBus, defineEvent, postgresTransport } from './bus.ts'
import { type ConnectionOptions, connect, createDb } from './db.ts'
import { newId } from './ids.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'

interface Told {
  tenantId: string
  text: string
}
const Told = defineEvent<Told>('test.node.told', { description: 'for tests' })
const Much = defineEvent<Told>('test.node.much', { description: 'for tests', bulky: true })

async function aNode(connection: ConnectionOptions) {
  const db = createDb(connection, { max: 3 })
  const log = await createLog({ level: 'silent', format: 'json' })
  const bus = createBus({ db, transport: postgresTransport(db), nodeId: newId(), log, metrics: createMetrics() })
  const heard: string[] = []
  const reacted: string[] = []
  let gaps = 0
  bus.hear(Told, ({ text }) => heard.push(text))
  bus.hear(Much, ({ text }) => heard.push(`much ${text.length}`))
  bus.onGap(() => gaps++)
  bus.react('test.told', Told, async (_, { text }) => void reacted.push(text))
  await bus.start({ workers: true })
  const tell = (text: string, event = Told) => db.tx((sql) => bus.publish(sql, event, { tenantId: 't', text }))
  const tellAll = (texts: string[]) =>
    db.tx((sql) =>
      bus.publishAll(
        sql,
        Told,
        texts.map((text) => ({ tenantId: 't', text })),
      ),
    )
  const stop = async () => {
    await bus.stop()
    await db.close()
  }
  return { db, heard, reacted, tell, tellAll, stop, gaps: () => gaps }
}

test('every node hears, one node reacts, and a message too long for the wire is told as a gap', async () => {
  const connection = await freshDatabase()
  await kernelMigrated(connection)
  const [one, two] = [await aNode(connection), await aNode(connection)]
  for (let n = 0; n < 10; n++) await one.tell(`m${n}`)
  await eventually(() => assert.equal(two.heard.length, 10), { withinMs: 1000 })
  assert.deepEqual(two.heard, one.heard)
  await eventually(() => assert.equal(one.reacted.length + two.reacted.length, 10))
  await one.tell('x'.repeat(10_000))
  await eventually(() => assert.equal(two.gaps(), 1))
  assert.equal(one.gaps(), 0)
  // What is bulky stays at home, where it is heard, and nobody has to start anew for it.
  await one.tell('x'.repeat(10_000), Much)
  await one.tell('last')
  await eventually(() => assert.equal(two.heard.at(-1), 'last'))
  assert.equal(one.heard.at(-2), 'much 10000')
  assert.deepEqual([two.heard.length, two.gaps()], [11, 1])
  // Of many at once only the one that is too long is a gap; the same twice in a transaction is told to the others once.
  const many = [...Array.from({ length: 30 }, (_, n) => `all ${n}`), 'again', 'again', 'x'.repeat(10_000), 'end']
  await one.tellAll(many)
  await eventually(() => assert.equal(two.heard.at(-1), 'end'))
  assert.equal(two.gaps(), 2)
  assert.deepEqual(one.heard.slice(-many.length), many)
  const short = [...new Set(many)].filter((text) => text.length < 100)
  assert.deepEqual(two.heard.slice(-short.length), short)
  await Promise.all([one.stop(), two.stop()])
})

test('a node that lost its connection is told that it may have missed something', async () => {
  const connection = await freshDatabase()
  await kernelMigrated(connection)
  const node = await aNode(connection)
  const other = connect(connection, { max: 1 })
  await other`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'`
  await eventually(() => assert.ok(node.gaps() > 0), { withinMs: 15_000 })
  await other.end()
  await node.stop()
})
