import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { asf, openIngest } from '../../../../test/harness/ingest.ts'
import { createPipelineOperations } from '../service/pipelines.ts'
import { createPipelinePool, tenantsPerThread } from './pool.ts'

const { waypost, admin, expectOk } = await openIngest({ environment: { WAYPOST_PAINLESS_REGEX: 'off' } })
const pipelines = `${asf}/_ingest/pipeline`

suite('a node that cannot run pipelines', () => {
  const newPool = (startMs?: number) =>
    createPipelinePool({
      threads: 1,
      regexEnabled: true,
      now: () => new Date(),
      onError() {},
      ...(startMs === 0 && { startMs }),
    })
  const put = (pool: ReturnType<typeof newPool>) => {
    const deps = { kit: waypost.kit, pool } as unknown as Parameters<typeof createPipelineOperations>[0]
    const ctx = { tenantId: 'default' } as Parameters<ReturnType<typeof createPipelineOperations>['put']>[0]
    return createPipelineOperations(deps).put(ctx, 'new', '{"processors":[]}')
  }

  test('a node that cannot run pipelines, because its threads do not start, answers 503', async () => {
    const pool = newPool(0)
    await assert.rejects(put(pool), { status: 503, code: 'pipelines_not_run', message: /cannot start/ })
    await pool.stop()
  })

  test('the pool of pipeline threads answers 503 while it stops', async () => {
    const pool = newPool()
    await pool.stop()
    await assert.rejects(put(pool), { status: 503, message: /stopping/ })
  })
})

test('a document does not fail after its thread has run pipelines of more tenants than it keeps', async () => {
  const pool = createPipelinePool({ threads: 1, regexEnabled: true, now: () => new Date(), onError: assert.fail })
  const work = { kind: 'documents' as const, pipelineId: 'p', indexNo: 1, count: 1, documents: '{}' }
  const run = (tenant: number) =>
    pool.run({ tenantId: `t${tenant}`, version: 1, pipelines: { p: '{"processors":[]}' } }, work)
  const tenants = Array.from({ length: tenantsPerThread + 1 }, (_, tenant) => tenant)
  for (const tenant of [...tenants, 0, tenants.length, 0, ...tenants]) {
    const result = await run(tenant)
    assert.ok(result && 'outcomes' in result, JSON.stringify({ tenant, result }))
  }
  await pool.stop()
})

test('work that ends a thread again is rejected, and later work of its tenant runs', async () => {
  const errors: unknown[] = []
  const pool = createPipelinePool({
    threads: 1,
    regexEnabled: true,
    now: () => new Date(),
    onError: (error) => errors.push(error),
  })
  const set = { tenantId: 'default', version: 1, pipelines: {} }
  // The body of a simulation is valid JSON. Other text makes the thread fail before the first document.
  const broken = await pool.run(set, { kind: 'simulate', pipelineId: undefined, body: '{', isVerbose: false })
  assert.deepEqual(broken, { problem: { type: 'exception', reason: 'the thread that ran the pipeline failed' } })
  assert.equal(errors.length, 2)
  const body = '{"pipeline":{"processors":[]},"docs":[{"_source":{}}]}'
  const result = await pool.run(set, { kind: 'simulate', pipelineId: undefined, body, isVerbose: false })
  assert.ok(result && 'outcomes' in result)
  await pool.stop()
})

test('if the operator has turned regular expressions off, they are rejected, and the rest of the language works', async () => {
  const withScript = (source: string) => ({ processors: [{ script: { source } }] })
  for (const source of ['ctx.a = ctx.b =~ /x/', "ctx.a = Pattern.quote('x')", "ctx.a = /x/.matcher('x').find()"]) {
    const answer = await admin(`PUT ${pipelines}/regex`, withScript(source))
    assert.equal(answer.status, 400, source)
    assert.match(answer.body.message, /Regexes are disabled/, source)
  }
  const simulated = await expectOk(`POST ${pipelines}/simulate`, {
    pipeline: withScript("ctx.a = 'a.b'.splitOnToken('.')[1]"),
    docs: [{ _source: {} }],
  })
  assert.equal(simulated.docs[0].doc._source.a, 'b')
})
