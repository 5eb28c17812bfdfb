/** The endpoints of a trigger or an alert setting: an application, a version, or a list of endpoints. */
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { holds, onResource } from '../../../../kernel/permissions.ts'
import { applicationResource, endpointResource } from '../../../register/contract.ts'
import type { Deps } from './deps.ts'

export interface Selection {
  appName?: string | undefined
  appVersionName?: string | undefined
  endpointIds?: string[] | undefined
}

export interface SelectionColumns {
  applicationName: string | null
  versionName: string | null
  endpointIds: string[] | null
}

/**
 * Checks that exactly one field of the selection is given (at most one if `isStandalone`), and that the caller may read the objects that it
 * names (document 5, 5.8). Names in `known`, the selection before a change, are accepted without a check, because a trigger may name
 * endpoints that were deleted since.
 */
export async function checkSelection(
  deps: Deps,
  ctx: Ctx,
  selection: Selection,
  { isStandalone = false, known }: { isStandalone?: boolean | undefined; known?: SelectionColumns | undefined } = {},
): Promise<SelectionColumns> {
  const { appName, appVersionName, endpointIds } = selection
  const count = [appName, appVersionName, endpointIds].filter((one) => one !== undefined).length
  if (count > 1 || (count === 0 && !isStandalone)) {
    const problem = `expected ${isStandalone ? 'at most' : 'exactly'} one of appName, appVersionName and endpointIds, got ${count}`
    throw invalidField('appName', problem)
  }
  if (appName !== undefined && appName !== known?.applicationName) await checkApplication(deps, ctx, appName)
  if (appVersionName !== undefined && appVersionName !== known?.versionName)
    await checkVersion(deps, ctx, appVersionName)
  const distinct = endpointIds && [...new Set(endpointIds)]
  if (distinct) await checkEndpoints(deps, ctx, distinct, new Set(known?.endpointIds))
  return { applicationName: appName ?? null, versionName: appVersionName ?? null, endpointIds: distinct ?? null }
}

const mayReadApplication = ({ caller, tenantId }: Ctx, name: string) =>
  holds(caller, 'application:read', onResource(tenantId, applicationResource(name)))

async function checkApplication({ applications }: Deps, ctx: Ctx, name: string) {
  if (!mayReadApplication(ctx, name) || !(await applications.exists(ctx, { name })))
    throw invalidField('appName', `there is no application ${name}, or the caller may not read it`)
}

async function checkVersion({ applications }: Deps, ctx: Ctx, name: string) {
  const version = await applications.findVersion(name)
  if (version?.tenantId !== ctx.tenantId || !mayReadApplication(ctx, version.applicationName))
    throw invalidField('appVersionName', `there is no version ${name}, or the caller may not read it`)
}

async function checkEndpoints({ register }: Deps, ctx: Ctx, ids: string[], known: ReadonlySet<string>) {
  const unchecked = ids.filter((id) => !known.has(id))
  const found = await register.findAll(unchecked)
  for (const id of unchecked) {
    const endpoint = found.get(id)
    const isReadable =
      endpoint?.tenantId === ctx.tenantId && holds(ctx.caller, 'endpoint:read', endpointResource(endpoint))
    if (!isReadable) throw invalidField('endpointIds', `there is no endpoint ${id}, or the caller may not read it`)
  }
}
