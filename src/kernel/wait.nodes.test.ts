/** Tests waits with two nodes. A small service stores invocations and waits for their results, as the command service does. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../test/harness/builders.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openTestPlatform, type TestPlatform } from '../../test/harness/test-platform.ts'
import { monotonicMs } from './clock.ts'
import { contract } from './contract.ts'
import { defineService, type Kit } from './define-service.ts'
import { NotFound } from './errors.ts'
import { AnyJson, Text, Type } from './schema.ts'
import type { RowWaits } from './wait.ts'

interface State {
  status: 'PENDING' | 'EXECUTED'
  result: string | null
}

interface Invocations {
  invoke(tenantId: string, id: string): Promise<void>
  /** Stores the result of a device. Any node can store it. */
  report(ids: string[], result: string): Promise<void>
  states: RowWaits<State>
  /** Number of statements that read states. */
  reads(): number
}
const Invocations = contract<Invocations>('test-invocations')

function createInvocations({ db, members, waits }: Kit): Invocations {
  let reads = 0
  const states = waits.define<State>('test.invocation', async (ids) => {
    reads++
    const rows = await db.sql<(State & { id: string })[]>`
      select id, status, result from public.invocations where id = any(${ids})`
    return new Map(rows.map((row) => [row.id, row]))
  })
  return {
    states,
    reads: () => reads,
    async invoke(tenantId, id) {
      await db.sql`
        insert into public.invocations (id, tenant_id, status, waiting_node)
        values (${id}, ${tenantId}, 'PENDING', ${members.nodeId})`
    },
    report: (ids, result) =>
      db.tx(async (sql) => {
        const rows = await sql<{ id: string; waitingNode: string }[]>`
          update public.invocations set status = 'EXECUTED', result = ${result} where id = any(${ids})
          returning id, waiting_node`
        await states.changed(
          sql,
          rows.map(({ id, waitingNode }) => ({ id, to: `node/${waitingNode}` })),
        )
      }),
  }
}

const service = defineService({
  name: 'test',
  provides: Invocations,
  build(kit) {
    const invocations = createInvocations(kit)
    return {
      api: invocations,
      http: [
        {
          name: 'test',
          roots: ['/test'],
          routes(http) {
            http.post(
              '/invocations/:id',
              {
                schema: {
                  name: 'invocations.invoke',
                  summary: 'Invoke and wait for the result',
                  params: Type.Object({ id: Text() }),
                  query: Type.Object({ awaitSeconds: Type.Integer({ default: 60 }) }),
                  response: { 200: AnyJson(), 202: AnyJson() },
                },
                config: { scope: 'authenticated' },
              },
              async ({ ctx, params: { id }, query }, reply) => {
                await invocations.invoke(ctx.tenantId, id)
                const limitMs = query.awaitSeconds * 1000
                const until = ({ status }: State) => status !== 'PENDING'
                const state = await invocations.states.wait(ctx, id, { until, limitMs })
                if (!state) throw NotFound({ what: `invocation ${id}` })
                return reply.code(state.status === 'EXECUTED' ? 200 : 202).send(state)
              },
            )
          },
        },
      ],
    }
  },
})

async function twoNodes() {
  const environment = { WAYPOST_MASTER_KEY: 'k'.repeat(32) }
  const authenticate = () => async () => aTenantAdmin()
  const one = await openTestPlatform({ services: [service], environment, authenticate })
  await one.kit.db.sql`
    create table public.invocations (
      id text primary key, tenant_id text not null, status text not null, result text, waiting_node text not null)`
  const two = await openTestPlatform({ services: [service], environment, authenticate, connection: one.connection })
  return { one, two }
}

const portOf = async ({ http }: TestPlatform) => {
  await http.app.listen({ host: '127.0.0.1', port: 0 })
  return (http.app.server.address() as AddressInfo).port
}

const waitForWaiters = ({ kit }: TestPlatform, count: number) => eventually(() => assert.equal(kit.waits.size, count))

suite('waits with two nodes', async () => {
  const { one, two } = await twoNodes()
  const ask = one.as(aTenantAdmin())
  const invoke = (id: string, awaitSeconds = 60) => ask(`POST /test/invocations/${id}?awaitSeconds=${awaitSeconds}`)
  const report = ({ ask }: TestPlatform, ids: string[], result: string) => ask(Invocations).report(ids, result)

  test('a result that this or another node commits is returned to the caller', async () => {
    for (const [id, node] of [
      ['elsewhere', two],
      ['here', one],
    ] as const) {
      const answer = invoke(id)
      await waitForWaiters(one, 1)
      const began = monotonicMs()
      await report(node, [id], 'opened')
      const { status, body } = await answer
      assert.deepEqual([status, body.result], [200, 'opened'])
      assert.ok(monotonicMs() - began < 5000, 'the wait must end when the result is stored, not at its time limit')
      await waitForWaiters(one, 0)
    }
  })

  test('a caller without a result gets the state at the time limit, and a caller whose row is deleted gets 404', async () => {
    const { status, body } = await invoke('slow', 0)
    assert.deepEqual([status, body.status], [202, 'PENDING'])
    const answer = invoke('deleted')
    await waitForWaiters(one, 1)
    await two.kit.db.tx(async (sql) => {
      await sql`delete from public.invocations where id = 'deleted'`
      await two.ask(Invocations).states.changed(sql, [{ id: 'deleted', to: 'all' }])
    })
    assert.equal((await answer).status, 404)
  })

  test('a small state that another node commits is returned without reading the row; for a large state, the row is read', async () => {
    for (const [id, result, reads] of [
      ['small', 'sent', 0],
      ['large', 'x'.repeat(2000), 1],
    ] as const) {
      const answer = invoke(id)
      await waitForWaiters(one, 1)
      const before = one.ask(Invocations).reads()
      await two.kit.db.tx(async (sql) => {
        await sql`update public.invocations set status = 'EXECUTED', result = ${result} where id = ${id}`
        const state: State = { status: 'EXECUTED', result }
        await two.ask(Invocations).states.changed(sql, [{ id, to: `node/${one.kit.members.nodeId}`, state }])
      })
      assert.equal((await answer).body.result, result)
      assert.equal(one.ask(Invocations).reads() - before, reads, id)
    }
  })

  test('a transaction that is rolled back wakes no waiter', async () => {
    const answer = invoke('undecided')
    await waitForWaiters(one, 1)
    const before = one.ask(Invocations).reads()
    const failing = two.kit.db.tx(async (sql) => {
      await two.ask(Invocations).states.changed(sql, [{ id: 'undecided', to: `node/${one.kit.members.nodeId}` }])
      throw new Error('rolled back')
    })
    await assert.rejects(failing, /rolled back/)
    await report(two, ['undecided'], 'decided')
    assert.equal((await answer).body.result, 'decided')
    assert.equal(one.ask(Invocations).reads(), before + 1)
  })

  test('a change whose signal was lost is found when the listening connection is replaced', async () => {
    const answer = invoke('lost')
    await waitForWaiters(one, 1)
    await two.kit.db.sql`update public.invocations set status = 'EXECUTED', result = 'kept' where id = 'lost'`
    await two.kit.db.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
    assert.equal((await answer).body.result, 'kept')
  })

  test('a caller that disconnects no longer counts as a waiter', async () => {
    const port = await portOf(one)
    const socket: Socket = connect(port, '127.0.0.1')
    socket.write('POST /test/invocations/abandoned HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    await waitForWaiters(one, 1)
    socket.destroy()
    await waitForWaiters(one, 0)
    await report(two, ['abandoned'], 'too late')
    assert.equal((await invoke('next', 0)).status, 202)
  })

  test('two thousand callers of a tenant can wait at the same time, and all callers get their results', async (t) => {
    const ids = Array.from({ length: 2000 }, (_, n) => `many ${n}`)
    const before = one.ask(Invocations).reads()
    const answers = ids.map((id) => invoke(encodeURIComponent(id)))
    await eventually(() => assert.equal(one.kit.waits.size, 2000), { withinMs: 60_000 })
    for (let from = 0; from < ids.length; from += 500) await report(two, ids.slice(from, from + 500), 'done')
    const results = (await Promise.all(answers)).map(({ status, body }) => `${status} ${body.result}`)
    assert.deepEqual([...new Set(results)], ['200 done'])
    const reads = one.ask(Invocations).reads() - before
    t.diagnostic(`${reads} statements read the states of 2000 rows twice`)
    assert.ok(reads < 2000)
  })

  test('a node that stops responds to all waiting callers before it ends', async () => {
    const port = await portOf(two)
    const answer = fetch(`http://127.0.0.1:${port}/test/invocations/stopped`, { method: 'POST' })
    await waitForWaiters(two, 1)
    const began = monotonicMs()
    const closing = two.close()
    const response = await answer
    assert.deepEqual([response.status, ((await response.json()) as State).status], [202, 'PENDING'])
    assert.ok(monotonicMs() - began < 5000)
    await closing
  })
})
