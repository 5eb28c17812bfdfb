/**
 * Kills one of two nodes with SIGKILL at random moments, while endpoints send samples that start a rule. Asserts that each acknowledged
 * sample has started the rule, that no run has two traces, that no tick ran twice, and that the statistics are those of the traces.
 */
import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import { createDb } from '../../src/kernel/db.ts'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { nodeDirectories, type RunningPlatform, startPlatform, usedDatabase } from '../harness/platform.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { killAll } from './kill.ts'

export interface RulesKillReport {
  rounds: number
  acknowledged: number
  runs: number
  ticks: number
}

const endpointCount = 4
const script = 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n'

export async function killRuleRounds(options: { rounds: number; seed: number }): Promise<RulesKillReport> {
  const random = seededRandom(options.seed)
  const database = await usedDatabase()
  const directories = nodeDirectories(2)
  const start = (index: number) =>
    startPlatform({
      directory: directories[index]!,
      environment: { ...database.environment, WAYPOST_LOG_LEVEL: 'fatal' },
    })
  const nodes = [await start(0), await start(1)]
  const ask = await nodes[0]!.asService(nodes[0]!.bootstrap.default)
  const prepared = await prepare(ask)
  const senders = prepared.endpoints.map((endpoint) => startSender(nodes, prepared.version, endpoint, random))
  for (let round = 0; round < options.rounds; round++) {
    await sleep(200 + random() * 800)
    const index = random() < 0.5 ? 0 : 1
    await killAll(nodes[index]!)
    await sleep(random() * 300)
    nodes[index] = await start(index)
  }
  for (const sender of senders) await sender.stop()
  const acknowledged = senders.flatMap((sender) => sender.acknowledged)
  const db = createDb(database.connection, { max: 2 })
  try {
    await (await nodes[0]!.asService(nodes[0]!.bootstrap.default))(
      `PUT ${rules}/rules/${prepared.scheduledId}/trigger-types/cron/triggers`,
      [],
    )
    const { runs, ticks } = await verify(db, prepared, senders)
    return { rounds: options.rounds, acknowledged: acknowledged.length, runs, ticks }
  } finally {
    await db.close()
    for (const node of nodes) await node.kill('SIGTERM')
  }
}

const rules = '/re/api/v1'

interface Prepared {
  version: string
  endpoints: { endpointId: string; token: string }[]
  ruleId: string
  scheduledId: string
}

async function prepare(ask: Ask): Promise<Prepared> {
  const make = async (operation: string, body: unknown) => {
    const answer = await ask(operation, body)
    assert.ok(answer.status < 300, `${operation}: ${answer.text}`)
    return answer
  }
  const idOf = ({ headers }: { headers: Headers }) => headers.get('location')!.split('/').at(-1)!
  await make('POST /api/v1/applications', { name: 'killed' })
  await make('POST /api/v1/applications/killed/app-versions', { nameSuffix: 'v1' })
  const version = 'killed-v1'
  const endpoints: Prepared['endpoints'] = []
  for (let n = 0; n < endpointCount; n++)
    endpoints.push((await make('POST /epr/api/v1/endpoints', { appVersion: { name: version } })).body)
  const linked = async (expression: string, type: string, trigger: object) => {
    const ruleId = idOf(await make(`POST ${rules}/rules`, { name: type, expression }))
    const triggerId = idOf(await make(`POST ${rules}/trigger-types/${type}/triggers`, { name: type, ...trigger }))
    await make(`PUT ${rules}/rules/${ruleId}/trigger-types/${type}/triggers`, [triggerId])
    return ruleId
  }
  return {
    version,
    endpoints,
    ruleId: await linked(script, 'endpoint-data-samples-received', { appName: 'killed' }),
    scheduledId: await linked('return ctx.trigger.cron.firedAt', 'cron', { cronExpression: '* * * * * *' }),
  }
}

/** Sends numbered samples of an endpoint over HTTP, each until a node has acknowledged it. */
function startSender(
  nodes: RunningPlatform[],
  version: string,
  { endpointId, token }: Prepared['endpoints'][0],
  random: () => number,
) {
  const acknowledged: number[] = []
  let isStopped = false
  const running = (async () => {
    for (let n = 1; !isStopped; n++)
      for (;;) {
        const node = nodes[random() < 0.5 ? 0 : 1]!
        try {
          const url = `${node.baseUrl}/kp1/${version}/dcx/${token}/json`
          const body = JSON.stringify({ n })
          const response = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(5000) })
          if (response.ok) {
            acknowledged.push(n)
            break
          }
        } catch {
          // The node was killed.
        }
        await sleep(20)
      }
  })()
  return {
    endpointId,
    acknowledged,
    async stop() {
      isStopped = true
      await running
    },
  }
}

async function verify(
  db: ReturnType<typeof createDb>,
  { ruleId, scheduledId }: Prepared,
  senders: { endpointId: string; acknowledged: number[] }[],
): Promise<{ runs: number; ticks: number }> {
  const { sql } = db
  return await eventually(
    async () => {
      const [left] = await sql`select count(*)::int as events from rules.events`
      assert.equal(left!.events, 0)
      const [changes] = await sql`select count(*)::int as waiting from rules.trace_changes`
      assert.equal(changes!.waiting, 0)
      const [sums] = await sql`
        select count(*)::int as traces, count(distinct id)::int as runs,
          (select count::int from rules.statistics where entity_id = ${ruleId}) as counted
        from rules.traces where entity_id = ${ruleId} and not is_failure`
      assert.equal(sums!.traces, sums!.runs)
      assert.equal(sums!.counted, sums!.traces)
      const rows = await sql<{ endpoint: string; numbers: number[] }[]>`
        select raised_on_id as endpoint, array_agg(distinct (metadata::jsonb ->> 'returnedValue')::int) as numbers
        from rules.traces where entity_id = ${ruleId} group by 1`
      for (const { endpointId, acknowledged } of senders) {
        const ran = new Set(rows.find(({ endpoint }) => endpoint === endpointId)?.numbers)
        assert.deepEqual(
          acknowledged.filter((n) => !ran.has(n)),
          [],
          `samples of ${endpointId} without a run`,
        )
      }
      const [ticks] = await sql`
        select count(*)::int as traces, count(distinct metadata::jsonb ->> 'returnedValue')::int as times
        from rules.traces where entity_id = ${scheduledId}`
      assert.equal(ticks!.traces, ticks!.times)
      return { runs: sums!.runs, ticks: ticks!.times }
    },
    { withinMs: 40_000, everyMs: 200 },
  )
}
