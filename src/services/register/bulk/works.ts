/** Changes of many endpoints as bulk tasks (kernel/bulk): delete, change metadata, move to a version. */
import { type BulkType, defineBulk, type Outcome } from '../../../kernel/bulk/types.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { onApplication, remove, update } from '../access.ts'
import type { EndpointRef, Register, RegisterWorks, TaskEndpoint, TaskEndpointResult } from '../contract.ts'
import type { EndpointOperations } from '../endpoints/service.ts'
import { lockApplicationShared } from '../endpoints/store/endpoints.ts'
import { lockEndpoints, lockNumberedShared } from '../endpoints/store/many.ts'
import { NoEndpoint } from '../errors.ts'
import { reservedKeys } from '../metadata/connectivity-keys.ts'
import { checkKeyCount, checkWritableKey } from '../metadata/metadata.ts'
import type { MetadataOperations, MetadataPatch } from '../metadata/service.ts'

type Work<D extends object> = BulkType<D, TaskEndpoint, TaskEndpointResult>

/** Days for which ended tasks and their results can be read. */
const keepDays = 30

export const DeleteEndpoints: Work<Record<never, never>> = defineBulk('register.delete-endpoints', {
  title: 'Delete endpoints',
  pageSize: 200,
  keepDays,
})
export const PatchMetadata: Work<MetadataPatch> = defineBulk('register.patch-metadata', {
  title: 'Change metadata',
  pageSize: 200,
  keepDays,
})
export const ChangeVersion: Work<{ applicationName: string; versionName: string }> = defineBulk(
  'register.change-version',
  { title: 'Move endpoints to a version', pageSize: 200, keepDays },
)
export const registerTasks = [DeleteEndpoints, PatchMetadata, ChangeVersion]

interface Deps {
  applications: Pick<Applications, 'findVersion'>
  endpoints: Pick<EndpointOperations, 'unregister' | 'moveAll'>
  metadata: Pick<MetadataOperations, 'patchAll'>
}

export function createWorks({ bulk }: Pick<Kit, 'bulk'>, deps: Deps): RegisterWorks {
  bulk.handle(DeleteEndpoints, {
    page: (sql, { tenantId }, items) =>
      withEndpoints(sql, tenantId, items, async (found) => {
        const deleted = new Set(await deps.endpoints.unregister(sql, [...found.keys()]))
        return (endpointId) => (deleted.has(endpointId) ? {} : { failed: NoEndpoint({ endpointId }).message })
      }),
  })
  bulk.handle(PatchMetadata, {
    page: (sql, { tenantId, data }, items) =>
      withEndpoints(sql, tenantId, items, async (found) => {
        const failures = await deps.metadata.patchAll(sql, [...found.values()], data)
        return (endpointId) => outcomeOf(failures.get(endpointId))
      }),
  })
  bulk.handle(ChangeVersion, {
    async page(sql, { tenantId, data }, items) {
      // The application is locked before the endpoints, as when a single endpoint changes its version, so that the two transactions cannot
      // deadlock.
      await lockApplicationShared(sql, data.applicationName)
      return await withEndpoints(sql, tenantId, items, async (found) => {
        const failures = await deps.endpoints.moveAll(sql, [...found.values()], data)
        return (endpointId) => outcomeOf(failures.get(endpointId))
      })
    },
  })
  return {
    delete: { type: DeleteEndpoints, scope: remove, dataOf: () => ({}), describe: () => ({}) },
    patchMetadata: { type: PatchMetadata, scope: update, dataOf: patchOf, describe: (patch) => ({ ...patch }) },
    changeVersion: {
      type: ChangeVersion,
      scope: update,
      dataOf: (ctx, { versionName }) => versionOf(deps, ctx, versionName),
      describe: ({ versionName }) => ({ versionName }),
    },
  }
}

const outcomeOf = (failed: string | undefined): Outcome<TaskEndpointResult> => (failed === undefined ? {} : { failed })

/** Checks the patch as far as it does not depend on an endpoint, so that the caller gets an error when it creates the job. */
function patchOf(_ctx: Ctx, { operations, merge }: MetadataPatch): MetadataPatch {
  if ((operations === undefined) === (merge === undefined))
    throw invalidField('operations', 'expected either operations or merge')
  if (operations) return { operations }
  checkKeyCount(merge!, 'merge')
  for (const key of Object.keys(merge!)) checkWritableKey(key, reservedKeys(), 'merge')
  return { merge: merge! }
}

async function versionOf({ applications }: Deps, ctx: Ctx, versionName: string) {
  const version = await applications.findVersion(versionName)
  // A caller that has the scope only on single endpoints needs `application:read` on the application to see the version.
  const isVisible =
    version?.tenantId === ctx.tenantId &&
    ['application:read', update].some((scope) =>
      holds(ctx.caller, scope, onApplication(ctx.tenantId, version.applicationName)),
    )
  if (!version || !isVisible) throw invalidField('versionName', `there is no application version ${versionName}`)
  return { applicationName: version.applicationName, versionName }
}

type OutcomeById = (endpointId: string) => Outcome<TaskEndpointResult>

/** Locks the endpoints that still exist and runs `work` with them. Returns an outcome for each item. */
async function withEndpoints(
  sql: Sql,
  tenantId: string,
  items: TaskEndpoint[],
  work: (found: Map<string, Awaited<ReturnType<typeof lockEndpoints>>[number]>) => Promise<OutcomeById>,
): Promise<Outcome<TaskEndpointResult>[]> {
  const numbers = numbersOf(items)
  const rows = numbers.size > 0 ? await lockEndpoints(sql, tenantId, [...numbers.keys()]) : []
  const found = new Map(
    rows.filter((row) => row.seq === numbers.get(row.endpointId)).map((row) => [row.endpointId, row]),
  )
  const outcomes = found.size > 0 ? await work(found) : undefined
  return items.map((item) => {
    if ('refused' in item) return { failed: item.refused }
    const { endpointId } = item
    return found.has(endpointId) ? outcomes!(endpointId) : { failed: NoEndpoint({ endpointId }).message }
  })
}

const numbersOf = (items: TaskEndpoint[]) =>
  new Map(items.flatMap((item) => ('number' in item ? [[item.endpointId, item.number] as const] : [])))

export const taskEndpoints: Register['taskEndpoints'] = async (sql, tenantId, items) => {
  const numbers = numbersOf(items)
  const rows = numbers.size > 0 ? await lockNumberedShared(sql, tenantId, [...numbers.keys()]) : []
  const found = new Map<string, EndpointRef>()
  for (const { seq, ...endpoint } of rows)
    if (seq === numbers.get(endpoint.endpointId)) found.set(endpoint.endpointId, endpoint)
  return items.map((item) => {
    if ('refused' in item) return { failed: item.refused }
    return found.get(item.endpointId) ?? { failed: NoEndpoint({ endpointId: item.endpointId }).message }
  })
}
