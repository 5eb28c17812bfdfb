import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { aNode, kernelDatabase, type TestNode } from '../../test/harness/nodes.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'
import { sleep } from './clock.ts'
import { connect, type Db, type Sql } from './db.ts'
import {
  defineRequest,
  defineSignal,
  inProcessTransport,
  postgresTransport,
  resetAllNodes,
  type Transport,
} from './signals.ts'

interface Said {
  text: string
}
const Said = defineSignal<Said>('test.said')
const Double = defineRequest<number, number>('test.double')
const Unknown = defineRequest<number, number>('test.unknown')

/**
 * Records signals. `got` contains each text once, because on a slow machine a stored signal may be delivered twice. `deliveries` contains
 * all deliveries.
 */
function recording(node: TestNode) {
  const [got, deliveries]: [string[], string[]] = [[], []]
  const from: string[] = []
  let resets = 0
  node.signals.on(Said, ({ text }, sender) => {
    deliveries.push(text)
    if (got.includes(text)) return
    got.push(text)
    from.push(sender)
  })
  node.signals.onReset(() => resets++)
  return { ...node, got, deliveries, from, resets: () => resets }
}

async function twoNodes(t: TestContext, options: Parameters<typeof aNode>[1] = {}) {
  const connection = await kernelDatabase(t)
  const [one, two] = [recording(await aNode(connection, options)), recording(await aNode(connection, options))]
  await one.start()
  await two.start()
  return { one: { ...one, connection }, two, connection }
}

const rowsOf = async ({ db }: TestNode) => (await db.sql`select from kernel.signals`).length

for (const [name, transport] of [
  ['PostgreSQL', undefined],
  ['the process', inProcessTransport()],
] as const)
  test(`signals reach all nodes, one node, or any node, over ${name}`, async (t) => {
    const { one, two } = await twoNodes(t, transport && { transport })
    await one.db.tx(async (sql) => {
      await one.signals.send(sql, 'all', Said, { text: 'to all' })
      await one.signals.send(sql, `node/${two.nodeId}`, Said, { text: 'to two' })
      await one.signals.send(sql, `node/${one.nodeId}`, Said, { text: 'to one' })
      await one.signals.send(sql, 'any/test', Said, { text: 'to any' })
      assert.deepEqual([one.got, two.got], [[], []])
    })
    assert.deepEqual(
      one.got.toSorted(),
      ['to all', 'to any', 'to one'],
      'the sending node must receive its signals before the transaction returns',
    )
    await eventually(() => assert.deepEqual(two.got, ['to all', 'to two']), { withinMs: 1000 })
    assert.deepEqual(two.from, [one.nodeId, one.nodeId])
    await eventually(async () => assert.equal(await rowsOf(one), 0))
    assert.equal(await two.signals.sendNow('all', Said, { text: 'now' }), true)
    await eventually(() => assert.deepEqual([one.got.at(-1), two.got.at(-1)], ['now', 'now']))
  })

test('a transaction that is rolled back sends no signals', async (t) => {
  const { one, two } = await twoNodes(t)
  await assert.rejects(
    one.db.tx(async (sql) => {
      await one.signals.send(sql, 'all', Said, { text: 'never' })
      throw new Error('rolled back')
    }),
    /rolled back/,
  )
  await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: 'ever' }))
  await eventually(() => assert.deepEqual(two.got, ['ever']))
  assert.deepEqual(one.got, ['ever'])
})

test('payloads with any text of any size arrive unchanged, and cause no reset', async (t) => {
  const { one, two } = await twoNodes(t)
  const before = two.resets()
  const texts = ['é\n"\\ \u2028 😀', 'x'.repeat(7900), 'ß'.repeat(8000), '😀'.repeat(100_000), 'end']
  await one.db.tx((sql) =>
    one.signals.sendEach(
      sql,
      Said,
      texts.map((text) => ({ to: `node/${two.nodeId}` as const, payload: { text } })),
    ),
  )
  await eventually(() => assert.deepEqual(two.got, texts))
  const now = texts.map((text) => `now ${text}`)
  for (const text of now) await one.signals.sendNow(`node/${two.nodeId}`, Said, { text })
  await eventually(() =>
    assert.deepEqual(
      two.got.filter((text) => text.startsWith('now ')),
      now,
    ),
  )
  assert.equal(two.resets(), before)
})

test('a node that is alone stores nothing and sends nothing', async (t) => {
  const connection = await kernelDatabase(t)
  const node = recording(await aNode(connection))
  await node.start()
  for (let n = 0; n < 5; n++) await node.db.tx((sql) => node.signals.send(sql, 'all', Said, { text: `${n}` }))
  await node.signals.flush()
  assert.equal(node.got.length, 5)
  const [sequence] = await node.db.sql`select is_called from kernel.signals_id_seq`
  assert.equal(sequence!.isCalled, false)
  assert.match(await node.metrics.text(), /waypost_signals_sent_total 0/)
})

test('after another node has just died, a node starts without delay, and gets another reset after the next heartbeat', async (t) => {
  const connection = await kernelDatabase(t)
  const living = recording(await aNode(connection))
  await living.start()
  await living.db.sql`insert into kernel.nodes (id, version) values ('killed', '')`
  const late = recording(await aNode(connection))
  const started = performance.now()
  await late.start()
  assert.ok(performance.now() - started < 4000)
  assert.ok(late.resets() > 0)
  const joining = { joinMs: 10, answerMs: 500, resetAgainMs: 100 }
  const fresh = recording(await aNode(connection, { joining }))
  await fresh.start()
  await living.db.tx((sql) => living.signals.send(sql, 'all', Said, { text: 'known' }))
  await eventually(() => assert.deepEqual(fresh.got, ['known']))
  await eventually(() =>
    assert.ok(
      fresh.resets() >= 3,
      'the node must reset at the start, after the time limit and after the next heartbeat',
    ),
  )
})

test('a node that joins while a transaction is open receives the signals of that transaction', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two] = [recording(await aNode(connection)), recording(await aNode(connection))]
  await one.start()
  await one.db.tx(async (sql) => {
    await one.signals.send(sql, 'all', Said, { text: 'early' })
    await two.start()
  })
  await eventually(() => assert.deepEqual(two.got, ['early']), { withinMs: 1000 })
  assert.equal(two.resets(), 1, 'the node must reset, because values that it read before it joined may be outdated')
})

test('signals of a node that died before sending them are sent by another node', async (t) => {
  const { one, two } = await twoNodes(t)
  await one.db.sql`
    insert into kernel.signals (node_id, address, topic, payload)
    values ('dead', 'all', 'test.said', '{"text": "all"}'), ('dead', 'node/gone', 'test.said', '{"text": "nobody"}'),
      ('dead', 'any/test', 'test.said', '{"text": "any"}'), ('dead', ${`node/${two.nodeId}`}, 'test.said', '{"text": "two"}')`
  await eventually(() => assert.deepEqual([...one.got, ...two.got].toSorted(), ['all', 'all', 'any', 'two']))
  assert.ok(one.got.includes('all') && two.got.includes('all') && two.got.includes('two'))
  await eventually(async () => assert.equal(await rowsOf(one), 0))
})

test('a signal of a node that died before sending it is delayed by less than a second', async (t) => {
  const { one, two } = await twoNodes(t)
  const delays: number[] = []
  for (let n = 0; n < 5; n++) {
    const undisturbedMs = startUndisturbedTime()
    await one.db.sql`
      insert into kernel.signals (node_id, address, topic, payload)
      values ('dead', 'all', 'test.said', ${JSON.stringify({ text: `${n}` })})`
    await eventually(() => assert.ok(one.got.includes(`${n}`) && two.got.includes(`${n}`)), { everyMs: 5 })
    delays.push(undisturbedMs())
  }
  // The test limits the median of the delays, because a busy machine delays single signals.
  assert.ok(delays.toSorted((a, b) => a - b)[2]! < 1000, `${delays.map(Math.round)} ms`)
})

test('a transaction whose signal cannot be stored is rolled back with the reason', async (t) => {
  const { one, two } = await twoNodes(t)
  await one.db.sql.unsafe(`
    create table public.changed (n int);
    create function public.refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no room' using errcode = '53100'; end $$;
    create trigger refuse before insert on kernel.signals for each row execute function public.refuse()`)
  const change = (after: (sql: Sql) => Promise<unknown>) =>
    one.db.tx(async (sql) => {
      await sql`insert into public.changed values (1)`
      await one.signals.send(sql, 'all', Said, { text: 'never' })
      await after(sql)
    })
  await assert.rejects(
    change(async () => {}),
    { code: '53100', message: 'no room' },
  )
  await assert.rejects(
    change((sql) => sql`insert into public.changed values (2)`),
    { code: '53100', message: 'no room' },
  )
  assert.equal((await one.db.sql`select from public.changed`).length, 0)
  await one.db.sql.unsafe('drop trigger refuse on kernel.signals')
  await change(async () => {
    throw new Error('thrown by the caller')
  }).catch(() => {})
  await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: 'stored' }))
  await eventually(() => assert.deepEqual([one.got, two.got], [['stored'], ['stored']]))
})

test('frequent signals to all nodes share batches, and a signal to one node does not wait for a batch', async (t) => {
  const batches: string[][] = []
  const transport = (db: Db) => {
    const inner = postgresTransport(db)
    const send: Transport['send'] = (messages, rowIds) => {
      batches.push(messages.map(({ address }) => address))
      return inner.send(messages, rowIds)
    }
    return { ...inner, send }
  }
  const connection = await kernelDatabase(t)
  const [one, two] = [recording(await aNode(connection, { transport })), recording(await aNode(connection))]
  await one.start()
  await two.start()
  await eventually(() => assert.ok(one.members.isAlive(two.nodeId)))
  batches.length = 0
  const began = performance.now()
  let sent = 0
  while (performance.now() - began < 300) {
    await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: `${sent++}` }))
    await sleep(2)
  }
  const took = performance.now() - began
  await eventually(() => assert.equal(two.got.length, sent))
  assert.ok(batches.length <= took / 20 + 2, `${batches.length} batches in ${Math.round(took)} ms`)
  await one.signals.sendNow('all', Said, { text: 'last' })
  const later = performance.now()
  void one.signals.sendNow('all', Said, { text: 'can wait' })
  await one.signals.sendNow(`node/${two.nodeId}`, Said, { text: 'urgent' })
  await eventually(() => assert.ok(two.got.includes('urgent')), { everyMs: 1 })
  t.diagnostic(`the urgent signal took ${Math.round(performance.now() - later)} ms`)
  assert.deepEqual(
    batches.at(-1),
    ['all', `node/${two.nodeId}`],
    'the waiting signal must be sent in the batch of the urgent signal',
  )
})

test('messages without a valid signature are dropped and counted', async (t) => {
  const { one, two } = await twoNodes(t)
  const forged = `${'A'.repeat(22)} ${one.nodeId} 99 0 1 [["test.said",{"text":"forged"}]]`
  for (const text of [forged, 'short', '', '{"node":"x","event":"y"}'])
    await one.db.sql`select pg_notify('waypost_all', ${text})`
  await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: 'true' }))
  await eventually(() => assert.deepEqual(two.got, ['true']))
  await eventually(async () =>
    assert.match(await two.metrics.text(), /waypost_signals_lost_total\{reason="signature"\} 4/),
  )
})

test('a repeated message is ignored', async (t) => {
  const { one, two, connection } = await twoNodes(t)
  const seen: string[] = []
  const spy = connect(connection, { max: 1 })
  await spy.listen('waypost_all', (text) => seen.push(text))
  await one.signals.sendNow('all', Said, { text: 'once' })
  await eventually(() => assert.equal(seen.length, 1))
  await spy`select pg_notify('waypost_all', ${seen[0]!})`
  await one.signals.sendNow('all', Said, { text: 'last' })
  await eventually(() => assert.equal(two.got.at(-1), 'last'))
  assert.deepEqual(two.deliveries, ['once', 'last'])
  await spy.end()
})

test('nodes use a replaced signing key', async (t) => {
  const { one, two } = await twoNodes(t)
  await one.db.sql`update kernel.signal_key set key = sha256('another')`
  const three = recording(await aNode(one.connection))
  await three.start()
  await eventually(async () => {
    await three.signals.sendNow('all', Said, { text: 'new' })
    assert.ok(one.got.includes('new') && two.got.includes('new'))
  })
})

test('a lost connection and a command that changes the database both cause a reset', async (t) => {
  const { one, two } = await twoNodes(t)
  const [before, own] = [two.resets(), one.resets()]
  await one.db.tx((sql) => resetAllNodes(sql))
  await eventually(() => assert.deepEqual([one.resets(), two.resets()], [own + 1, before + 1]), { withinMs: 1000 })
  await one.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
  await eventually(() => assert.ok(two.resets() > before + 1), { withinMs: 15_000 })
  await eventually(async () => {
    await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: 'again' }))
    assert.ok(two.got.includes('again'))
  })
})

test('a process that does not join the nodes can send signals', async (t) => {
  const { one, two, connection } = await twoNodes(t)
  const command = await aNode(connection)
  await command.db.tx((sql) => command.signals.send(sql, 'all', Said, { text: 'command' }))
  await command.db.tx((sql) => command.signals.send(sql, 'any/test', Said, { text: 'work' }))
  await command.signals.flush()
  await eventually(() => assert.deepEqual([...one.got, ...two.got].toSorted(), ['command', 'command', 'work']))
})

test('a request to another node gets a response, or fails at its time-out', async (t) => {
  const { one, two } = await twoNodes(t)
  for (const { signals } of [one, two])
    signals.answer(Double, async (n) => {
      if (n < 0) throw new Error('not below zero')
      return 2 * n
    })
  assert.equal(await one.signals.request(two.nodeId, Double, 21), 42)
  assert.equal(await one.signals.request(one.nodeId, Double, 1), 2)
  await assert.rejects(one.signals.request(two.nodeId, Double, -1), /not below zero/)
  await assert.rejects(one.signals.request(two.nodeId, Unknown, 1), /no handler for test.unknown/)
  await assert.rejects(
    one.signals.request('gone', Double, 1, { timeoutMs: 50 }),
    /did not answer test.double within 50 ms/,
  )
})

test('other handlers are called even if one handler fails', async (t) => {
  const { one, two } = await twoNodes(t)
  two.signals.on(Said, () => {
    throw new Error('at once')
  })
  two.signals.on(Said, () => Promise.reject(new Error('later')))
  const after: string[] = []
  two.signals.on(Said, ({ text }) => void after.push(text))
  await one.db.tx((sql) => one.signals.send(sql, 'all', Said, { text: 'kept' }))
  await eventually(() => assert.deepEqual(after, ['kept']))
})
