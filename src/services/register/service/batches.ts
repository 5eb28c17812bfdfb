import type { Ctx } from '../../../kernel/contract.ts'
import { authorizeOn } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { Applications } from '../../applications/contract.ts'
import { type FollowKeys, reservedIn } from '../connectivity-keys.ts'
import { EndpointIdTaken, EndpointTokenTaken, NoBatch, NoVersionHere } from '../errors.ts'
import { checkMetadata, type IsReserved, type Metadata } from '../metadata.ts'
import * as store from '../store/batches.ts'
import { create, needsGrant, onApplication, permittedVersion } from './access.ts'
import type { Admission, RegistrationRules } from './registration.ts'

export interface BatchRequest {
  appVersionName: string
  endpoints: { endpointId?: string; endpointToken?: string; metadata?: Metadata }[]
}

export interface BatchStatus {
  createdCount: number
  failedCount: number
  created: { endpointToken: string; endpointId: string; metadata?: Metadata }[]
  failed: { endpointToken?: string; endpointId?: string; metadata?: Metadata; status: 'FAILED'; statusReason: string }[]
}

export interface BatchRules {
  /** The id under which its status is asked for. */
  start(ctx: Ctx, request: BatchRequest): Promise<string>
  status(ctx: Ctx, of: { taskId: string; appName?: string | undefined }): Promise<BatchStatus>
  /** Statuses are kept for a week. */
  forgetOld(sql: Parameters<typeof store.deleteOldBatches>[0]): Promise<void>
}

export const RegisterBatch = defineJob<{ tenantId: string; taskId: string }>('register.batch')
/** In one transaction. */
const atOnce = 100
const keptDays = 7

export function createBatchRules(
  kit: Kit,
  deps: { applications: Applications; registration: RegistrationRules; connectivityKeys: FollowKeys },
): BatchRules {
  const { db, jobs, now, newId, secrets } = kit
  const { applications, registration, connectivityKeys } = deps

  /** Some of the items; false when none is left. Done again after a crash, it goes on where the last commit was. */
  const work = (batch: store.BatchRow, isReserved: IsReserved) =>
    db.tx(async (sql) => {
      const { tenantId, taskId, applicationName } = batch
      const items = await store.lockPending(sql, tenantId, taskId, atOnce)
      if (items.length === 0) return false
      const reasons = new Map<number, string>()
      const admissions: (Admission & { position: number })[] = []
      const seen = new Set<string>()
      for (const { position, endpointId: given, endpointToken, metadata } of items) {
        const endpointId = given ?? newId()
        const token = endpointToken === null ? undefined : secrets.open(endpointToken)
        const problem = seen.has(endpointId)
          ? EndpointIdTaken({ endpointId }).message
          : problemWith(metadata, isReserved)
        if (problem !== undefined) reasons.set(position, problem)
        else admissions.push({ position, endpointId, metadata: metadata ?? {}, token })
        seen.add(endpointId)
      }
      const system = kit.system(tenantId)
      const creator = batch.creator ? { ...system, caller: { tenantId, permissions: [], ...batch.creator } } : undefined
      const outcomes = await registration.admit(sql, system, batch, admissions, creator)
      const admitted = new Map(
        admissions.map(({ position, ...rest }, index) => [position, { ...rest, outcome: outcomes[index]! }]),
      )
      const finished = items.map(({ position, endpointId, endpointToken }) => {
        const one = admitted.get(position)
        if (one && typeof one.outcome === 'object')
          return {
            position,
            state: 'created' as const,
            endpointId: one.endpointId,
            endpointToken: secrets.seal(one.outcome.token),
            reason: null,
          }
        const refusal =
          one?.outcome === 'token taken'
            ? EndpointTokenTaken({ applicationName })
            : EndpointIdTaken({ endpointId: one?.endpointId ?? '' })
        return {
          position,
          state: 'failed' as const,
          endpointId,
          endpointToken,
          reason: reasons.get(position) ?? refusal.message,
        }
      })
      await store.finishItems(sql, batch, finished)
      return true
    })

  jobs.handle(RegisterBatch, async ({ tenantId, taskId }) => {
    const batch = await store.findBatch(db.sql, tenantId, taskId)
    while (batch && (await work(batch, reservedIn(await connectivityKeys(batch)))));
  })

  return {
    async start(ctx, { appVersionName: name, endpoints }) {
      const missing = () => NoVersionHere({ name })
      const into = permittedVersion(ctx, await applications.findVersion(name), [create], missing)
      const { subject, roles } = ctx.caller
      const creator = needsGrant(ctx, into) ? { subject, roles: [...roles] } : null
      const taskId = newId()
      await db.tx(async (sql) => {
        const items = endpoints.map(({ endpointId, endpointToken, metadata }) => ({
          endpointId: endpointId ?? null,
          endpointToken: endpointToken === undefined ? null : secrets.seal(endpointToken),
          metadata: metadata ?? null,
        }))
        await store.insertBatch(sql, { ...into, taskId, creator, at: now() }, items)
        await jobs.send(sql, RegisterBatch, { tenantId: into.tenantId, taskId })
      })
      return taskId
    },

    async status(ctx, { taskId, appName }) {
      const missing = () => NoBatch({ taskId })
      const batch = await store.findBatch(db.sql, ctx.tenantId, taskId)
      if (!batch || (appName !== undefined && appName !== batch.applicationName)) throw missing()
      const application = onApplication(batch.tenantId, batch.applicationName)
      authorizeOn(ctx, { read: 'application:read', scope: create }, application, missing)
      const items = await store.findFinished(db.sql, batch.tenantId, taskId)
      const created = items
        .filter(({ state }) => state === 'created')
        .map(({ endpointId, endpointToken, metadata }) => ({
          endpointToken: secrets.open(endpointToken ?? ''),
          endpointId: endpointId ?? '',
          ...(metadata && { metadata }),
        }))
      const failed = items
        .filter(({ state }) => state === 'failed')
        .map(({ endpointId, endpointToken, metadata, reason }) => ({
          ...(endpointToken !== null && { endpointToken: secrets.open(endpointToken) }),
          ...(endpointId !== null && { endpointId }),
          ...(metadata && { metadata }),
          status: 'FAILED' as const,
          statusReason: reason ?? '',
        }))
      return { createdCount: created.length, failedCount: failed.length, created, failed }
    },

    forgetOld: (sql) => store.deleteOldBatches(sql, new Date(now().getTime() - keptDays * 24 * 3600 * 1000)),
  }
}

/** What is wrong with one item is told of that item. */
function problemWith(metadata: Metadata | null, isReserved: IsReserved): string | undefined {
  try {
    if (metadata) checkMetadata(metadata, isReserved)
    return undefined
  } catch (error) {
    if (error instanceof PlatformError) return error.message
    throw error
  }
}
