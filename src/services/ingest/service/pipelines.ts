/** Pipelines of a tenant and their simulation. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { InvalidRequest, invalidField, TooManyRequests } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { NoPipeline, PipelineInUse, PipelinesNotRun, PipelineUnusable, TooManyPipelines } from '../errors.ts'
import { PipelinesChanged } from '../events.ts'
import * as store from '../store/pipelines.ts'
import { findUsers } from '../store/templates.ts'
import type { Problem, Work } from '../workers/protocol.ts'
import type { Deps } from './deps.ts'

export interface PipelineOperations {
  /** `definition` is JSON text. */
  put(ctx: Ctx, pipelineId: string, definition: string, ifMatch?: string): Promise<void>
  /** Returns a pipeline as JSON text, and its ETag. */
  get(ctx: Ctx, pipelineId: string): Promise<{ body: string; etag: string }>
  /** Returns all pipelines as JSON text. */
  list(ctx: Ctx): Promise<string>
  delete(ctx: Ctx, pipelineId: string, ifMatch?: string): Promise<void>
  /** Simulates a pipeline. `body` is JSON text; without an id, it contains the pipeline. Returns JSON text. */
  simulate(ctx: Ctx, pipelineId: string | undefined, body: string, isVerbose?: boolean): Promise<string>
}

const pipelinesMax = 1000
/** Maximum size of all pipelines of a tenant together, because they are sent to the threads together. */
const bytesMax = 8 * 1024 * 1024

const unusable = ({ type, reason, error }: Problem) =>
  PipelineUnusable({ problem: reason }, { details: error ? { error } : { type } })

export function createPipelineOperations(deps: Deps): PipelineOperations {
  const { db, bus, now } = deps.kit

  // The pipelines are read from the database and not from the cache, so that a caller gets what it has just written on another node.
  async function run({ tenantId }: Ctx, work: Work) {
    const set = { tenantId, ...(await store.findPipelineSet(db.sql, tenantId)) }
    const named = work.kind === 'simulate' ? work.pipelineId : undefined
    if (named !== undefined && !Object.hasOwn(set.pipelines, named)) throw NoPipeline({ pipelineId: named })
    const result = await deps.pool.run(set, work)
    if (!result) throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
    if ('problem' in result)
      throw result.problem.isTemporary ? PipelinesNotRun({ reason: result.problem.reason }) : unusable(result.problem)
    return result.outcomes
  }
  const keyOf = ({ tenantId }: Ctx, pipelineId: string) => JSON.stringify(`${tenantId}-${pipelineId}`)

  return {
    async put(ctx, pipelineId, definition, ifMatch) {
      checkId(pipelineId)
      await run(ctx, { kind: 'check', definition })
      const { tenantId } = ctx
      await db.tx(async (sql) => {
        await store.lockTenant(sql, tenantId)
        checkIfMatch(ifMatch, await etagNow(sql, tenantId, pipelineId))
        const others = await store.countOthers(sql, tenantId, pipelineId)
        if (others.count >= pipelinesMax) throw TooManyPipelines({ limit: pipelinesMax })
        if (others.bytes + Buffer.byteLength(definition) > bytesMax)
          throw InvalidRequest({
            problem: `body: all pipelines of a tenant together may have at most ${bytesMax} bytes`,
          })
        await store.upsertPipeline(sql, { tenantId, pipelineId, definition, at: now() })
        await bus.publish(sql, PipelinesChanged, { tenantId })
      })
    },
    async get(ctx, pipelineId) {
      const definition = await store.findPipeline(db.sql, ctx.tenantId, pipelineId)
      if (definition === undefined) throw NoPipeline({ pipelineId })
      return { body: `{${keyOf(ctx, pipelineId)}:${definition}}`, etag: etagOf(definition) }
    },
    async list(ctx) {
      const rows = await store.findPipelines(db.sql, ctx.tenantId)
      return `{${rows.map(({ pipelineId, definition }) => `${keyOf(ctx, pipelineId)}:${definition}`).join()}}`
    },
    delete: ({ tenantId }, pipelineId, ifMatch) =>
      db.tx(async (sql) => {
        await store.lockTenant(sql, tenantId)
        const etag = await etagNow(sql, tenantId, pipelineId)
        if (etag === undefined) throw NoPipeline({ pipelineId })
        checkIfMatch(ifMatch, etag)
        const users = await findUsers(sql, tenantId, pipelineId)
        if (users.length > 0) throw PipelineInUse({ pipelineId, applications: users.join(', ') })
        if (!(await store.deletePipeline(sql, tenantId, pipelineId))) throw NoPipeline({ pipelineId })
        await bus.publish(sql, PipelinesChanged, { tenantId })
      }),
    async simulate(ctx, pipelineId, body, isVerbose = false) {
      const documents = await run(ctx, { kind: 'simulate', pipelineId, body, isVerbose })
      return `{"docs":[${documents.join()}]}`
    },
  }
}

async function etagNow(sql: Sql, tenantId: string, pipelineId: string): Promise<string | undefined> {
  const definition = await store.findPipeline(sql, tenantId, pipelineId)
  return definition === undefined ? undefined : etagOf(definition)
}

const idPattern = /^[A-Za-z0-9_.-]{1,255}$/

function checkId(pipelineId: string) {
  if (!idPattern.test(pipelineId))
    throw invalidField('pipelineID', 'expected 1 to 255 letters, digits, underscores, dots and dashes')
  if (pipelineId === 'simulate') throw invalidField('pipelineID', 'simulate is reserved for the path of this API')
}
