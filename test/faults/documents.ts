/**
 * Kills one of two nodes with SIGKILL, again and again, while devices of an application with a template and a pipeline send samples to
 * both nodes. Asserts that every acknowledged sample has exactly one document, which the pipeline has processed or which states why the
 * pipeline failed. Asserts that no unacknowledged sample has two documents.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import type { Ask } from '../harness/client.ts'
import { nodeDirectories, type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { startPostgresServer } from '../harness/postgres-server.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { killAll } from './kill.ts'

export interface DocumentsKillReport {
  rounds: number
  /** Acknowledged samples, each with its document. */
  samples: number
  /** Documents with `ingestError`, because the pipeline exceeded its time limit on the busy machine. */
  unprocessed: number
  /** Samples whose request got no response. Such a sample may have one document or no document. */
  unanswered: number
  /** Samples whose request got no response and which have a document. */
  unansweredStored: number
}

const app = 'plant'
const version = `${app}-v1`
const deviceCount = 20

export async function killDocumentRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<DocumentsKillReport> {
  const random = seededRandom(options.seed)
  const database = await startPostgresServer(join(options.directory, 'database'))
  const environment = {
    WAYPOST_DATABASE_URL: database.url,
    WAYPOST_MASTER_KEY: 'k'.repeat(40),
    WAYPOST_LOG_LEVEL: 'error',
  }
  const directories = nodeDirectories(2)
  const start = (index: number) => startPlatform({ directory: directories[index]!, environment })
  const nodes: RunningPlatform[] = [await start(0)]
  nodes.push(await start(1))
  const { bootstrap } = nodes[0]!
  await prepare(await nodes[0]!.asService(bootstrap.default), bootstrap.default.tenantId)
  const load = startLoad(nodes, random)
  for (let round = 0; round < options.rounds; round++) {
    await sleep(500 + random() * 1500)
    const victim = Math.floor(random() * 2)
    await killAll(nodes[victim]!)
    nodes[victim] = await start(victim)
  }
  const { acknowledged, unanswered } = await load.stop()
  const sql = connect(database.connection(), { max: 1, name: 'faults' })
  try {
    const rows = await sql<{ n: number; count: number; processed: number; failed: number }[]>`
      select (doc -> 'dataSample' ->> 'n')::int as n, count(*)::int as count, count(doc -> 'ingestError')::int as failed,
        count(*) filter (where doc -> 'dataSample' ->> 'double' = (2 * (doc -> 'dataSample' ->> 'n')::int)::text)::int as processed
      from ingest.documents group by 1`
    const documents = new Map(rows.map((row) => [row.n, row]))
    const hasOneDocument = (n: number) => {
      const { count, processed, failed } = documents.get(n) ?? { count: 0, processed: 0, failed: 0 }
      return count === 1 && processed + failed === 1
    }
    const wrong = acknowledged.filter((n) => !hasOneDocument(n))
    assert.deepEqual(wrong, [], 'every acknowledged sample must have exactly one document')
    const twice = rows.filter(({ count }) => count > 1).map(({ n }) => n)
    assert.deepEqual(twice, [], 'no sample may have several documents')
    for (const node of nodes) assert.equal(await node.kill('SIGTERM'), 0)
    return {
      rounds: options.rounds,
      samples: acknowledged.length,
      unprocessed: rows.filter(({ failed }) => failed > 0).length,
      unanswered: unanswered.length,
      unansweredStored: unanswered.filter((n) => documents.has(n)).length,
    }
  } finally {
    await sql.end({ timeout: 5 })
    await database.stop()
  }
}

async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  assert.equal(answer.status, status, `${operation}: ${answer.text}`)
}

async function prepare(ask: Ask, tenantId: string) {
  await expectStatus(ask, 201, 'POST /api/v1/applications', { name: app })
  await expectStatus(ask, 201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  const source = 'ctx.dataSample.double = ctx.dataSample.n * 2'
  await expectStatus(ask, 200, 'PUT /asf/api/v1/_ingest/pipeline/twice', { processors: [{ script: { source } }] })
  const template = { settings: { index: { default_pipeline: 'twice' } } }
  await expectStatus(ask, 200, `PUT /asf/api/v1/${tenantId}-${app}/_template`, template)
  for (let n = 0; n < deviceCount; n++)
    await expectStatus(ask, 201, 'POST /epr/api/v1/endpoints', {
      appVersion: { name: version },
      endpointId: `d${n}`,
      endpointToken: `token-${n}`,
    })
}

/** Sends each sample once, to a random node. A sample without a response may or may not be stored. */
function startLoad(nodes: RunningPlatform[], random: () => number) {
  const [acknowledged, unanswered]: [number[], number[]] = [[], []]
  let [next, isRunning] = [0, true]
  async function send(device: number, n: number): Promise<boolean> {
    const node = nodes[Math.floor(random() * nodes.length)]!
    try {
      const answer = await fetch(`${node.baseUrl}/kp1/${version}/dcx/token-${device}/json`, {
        method: 'POST',
        body: JSON.stringify({ n }),
        signal: AbortSignal.timeout(10_000),
      })
      await answer.text()
      return answer.status === 200
    } catch {
      return false
    }
  }
  const devices = Array.from({ length: deviceCount }, async (_, device) => {
    while (isRunning) {
      const n = next++
      const list = (await send(device, n)) ? acknowledged : unanswered
      list.push(n)
      await sleep(list === acknowledged ? random() * 30 : 50)
    }
  })
  return {
    async stop() {
      isRunning = false
      await Promise.all(devices)
      return { acknowledged, unanswered }
    },
  }
}
