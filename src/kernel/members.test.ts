import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { aNode, kernelDatabase } from '../../test/harness/nodes.ts'

const idsOf = (members: { id: string }[]) => members.map(({ id }) => id).sort()

test('nodes that start at the same time know each other, and know immediately when another node stops', async (t) => {
  const connection = await kernelDatabase(t)
  const nodes = await Promise.all([aNode(connection), aNode(connection), aNode(connection)])
  assert.equal(nodes[0]!.members.isAlone(), false, 'a process that has not joined must not count as alone')
  await Promise.all(nodes.map((node) => node.start()))
  for (const { nodeId, members } of nodes) {
    assert.deepEqual(
      idsOf(members.others()),
      nodes
        .map((node) => node.nodeId)
        .filter((id) => id !== nodeId)
        .sort(),
    )
    assert.equal(members.isAlone(), false)
  }
  const left: string[] = []
  nodes[0]!.members.onLeave((id) => left.push(id))
  await nodes[2]!.stop()
  await eventually(() => assert.deepEqual(left, [nodes[2]!.nodeId]), { withinMs: 1000 })
  assert.deepEqual(idsOf(nodes[0]!.members.others()), [nodes[1]!.nodeId])
  await nodes[1]!.stop()
  await eventually(() => assert.ok(nodes[0]!.members.isAlone()), { withinMs: 1000 })
})

test('one of the other nodes sweeps the rows of a dead node, and sweeps again after a failure', async (t) => {
  const connection = await kernelDatabase(t)
  const timing = { heartbeatMs: 100, deadAfterSeconds: 0.5 }
  const [one, two] = [await aNode(connection, { timing }), await aNode(connection, { timing })]
  const swept: string[] = []
  let failures = 1
  for (const { nodeId, members } of [one, two])
    members.declareOwnedRows({
      name: 'test',
      owners: async () => [],
      async sweep(dead) {
        if (failures-- > 0) throw new Error('not yet')
        swept.push(`${dead} by ${nodeId}`)
      },
    })
  await one.start()
  await one.db.sql`insert into kernel.nodes (id, version, seen_at) values ('dead', '0', now() - interval '1 hour')`
  await two.start()
  await eventually(() => assert.equal(swept.length, 1), { withinMs: 30_000 })
  assert.match(swept[0]!, /^dead by/)
  await eventually(async () => assert.equal((await one.db.sql`select from kernel.nodes where id = 'dead'`).length, 0))
  assert.equal(swept.length, 1)
})

test('a node that starts sweeps the rows of unknown nodes', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aNode(connection)
  const swept: string[] = []
  node.members.declareOwnedRows({
    name: 'test',
    owners: async () => ['restored', node.nodeId],
    sweep: async (dead) => void swept.push(dead),
  })
  await node.start()
  await eventually(() => assert.deepEqual(swept, ['restored']), { withinMs: 5000 })
})

test('a node without heartbeats does not count as dead if the database was unreachable', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aNode(connection)
  const swept: string[] = []
  node.members.declareOwnedRows({ name: 'test', owners: async () => [], sweep: async (dead) => void swept.push(dead) })
  await node.start()
  // All heartbeats are a minute old, as after an outage of the database.
  await node.db.sql`
    insert into kernel.nodes (id, version, seen_at) values ('also away', '0', now() - interval '1 minute')`
  await node.db.sql`update kernel.nodes set seen_at = now() - interval '1 minute' where id = ${node.nodeId}`
  await node.members.refresh()
  await node.members.refresh()
  await node.db.sql`update kernel.nodes set seen_at = now() where id = 'also away'`
  await node.members.refresh()
  assert.deepEqual(swept, [])
  assert.ok(node.members.isAlive('also away'))
})

test('a living node that other nodes consider dead waits for the sweep, joins again and calls onReturn', async (t) => {
  const connection = await kernelDatabase(t)
  const [node, other] = [await aNode(connection), await aNode(connection)]
  let [returns, resets] = [0, 0]
  node.members.onReturn(() => returns++)
  node.signals.onReset(() => resets++)
  await node.start()
  await other.db.sql`
    update kernel.nodes set swept_by = 'another', swept_until = now() + interval '1 minute' where id = ${node.nodeId}`
  await node.members.refresh()
  assert.equal(returns, 0)
  await other.db.sql`delete from kernel.nodes where id = ${node.nodeId}`
  await node.members.refresh()
  assert.deepEqual([returns, resets], [1, 1])
  const [row] = await other.db.sql`select swept_by from kernel.nodes where id = ${node.nodeId}`
  assert.equal(row!.sweptBy, null)
})

test('a node that loses the connection on which it listens is reported once, before it counts as dead', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two, killed] = [await aNode(connection), await aNode(connection), await aNode(connection)]
  const silent: string[] = []
  const left: string[] = []
  one.members.onSilent((id) => silent.push(id))
  one.members.onLeave((id) => left.push(id))
  await one.start()
  await two.start()
  const [session] = await killed.db.sql`select pg_backend_pid() as pid`
  await one.db.sql`insert into kernel.nodes (id, version, listener) values ('killed', '0', ${session?.pid})`
  await one.members.refresh()
  assert.ok(one.members.isAlive('killed'))
  assert.deepEqual(silent, [])
  await killed.stop()
  await eventually(async () => {
    await one.members.refresh()
    assert.deepEqual(silent, ['killed'])
  })
  await one.members.refresh()
  assert.deepEqual([silent, left], [['killed'], []])
  await two.stop()
  await eventually(() => assert.deepEqual([silent, left], [['killed'], [two.nodeId]]))
})
