/** Offers a version again to endpoints that could not apply it. */
import type { Ctx } from '../../../kernel/contract.ts'
import { NoSoftware } from '../errors.ts'
import { forgetFailures } from '../store/endpoints.ts'
import { countRollout } from '../store/targets.ts'
import { beginEpoch, findVersion, lockApplication } from '../store/versions.ts'
import { announceChange } from './announce.ts'
import { accessible, type Deps, updateScope } from './deps.ts'
import type { Pushes } from './pushes.ts'
import type { Target } from './versions.ts'

export interface RetryRules {
  /** Offers the version again to these endpoints, or, without ids, to all endpoints that failed. Returns how many had failed. */
  retry(ctx: Ctx, target: Target, endpointIds: string[] | undefined): Promise<{ endpointsCount: number }>
}

interface RetryDeps extends Deps {
  pushes: Pushes
}

export const createRetryRules = (deps: RetryDeps): RetryRules => ({
  retry: (ctx, target, endpointIds) => retry(deps, ctx, target, endpointIds),
})

async function retry(deps: RetryDeps, ctx: Ctx, target: Target, endpointIds: string[] | undefined) {
  const { kit, plans, pushes } = deps
  const notFound = () => NoSoftware({ ...target })
  const { appName, softwareVersion: version } = target
  const application = await accessible(deps, ctx, { appName, scope: updateScope }, notFound)
  const at = kit.now()
  return await kit.db.tx(async (sql) => {
    await lockApplication(sql, application)
    const row = await findVersion(sql, { ...application, version })
    if (!row) throw notFound()
    const { number } = row
    const plan = await plans.read(sql, application)
    if (endpointIds === undefined) {
      // Only one row changes, however many endpoints failed: reports before the new epoch no longer count.
      const { failed } = await countRollout(sql, application, { plan, at: at.getTime() }, number)
      await beginEpoch(sql, { ...application, number }, at)
      await announceChange(kit, sql, application)
      return { endpointsCount: failed }
    }
    const resumedAt = plan.byNumber.get(number)?.resumedAt
    const forgotten = await forgetFailures(
      sql,
      { ...application, number },
      { endpointIds, resumedAt: resumedAt === undefined ? undefined : new Date(resumedAt) },
    )
    await pushes.toEndpoints(sql, application, forgotten)
    return { endpointsCount: forgotten.length }
  })
}
