import type { Kit } from '../../../kernel/define-service.ts'
import type { Register } from '../../register/contract.ts'
import type { Part } from '../part.ts'
import type { RulesSettings } from '../settings.ts'
import { defineTopic } from './live.ts'
import { alertRoutes } from './routes.ts'
import { findAlert } from './service/access.ts'
import { createAlertLimits } from './service/alert-limits.ts'
import { type Activation, type Changed, createAlertChanges, type Resolution } from './service/changes.ts'
import { createAlertDeletions } from './service/deletions.ts'
import * as operations from './service/operations.ts'
import { createAlertReading } from './service/reading.ts'
import { viewOf } from './store/alerts.ts'

/** Functions that the executors of alert actions call. */
export interface Alerts {
  /** Opens or renews an alert. Throws `AlertRefused` if the alert would exceed a limit. */
  activate(activation: Activation): Promise<Changed>
  /** Resolves the open alert of an entity and type. Returns its id, or undefined if no alert is open. */
  resolveOpen(resolution: Resolution): Promise<string | undefined>
}

export interface AlertDeps {
  kit: Pick<Kit<RulesSettings>, 'db' | 'bus' | 'live' | 'jobs' | 'now' | 'newId' | 'settings' | 'quota'>
  register: Pick<Register, 'metadataOf' | 'relation'>
}

export interface AlertsPart extends Part {
  api: Alerts
}

export function createAlerts(deps: AlertDeps): AlertsPart {
  const change = createAlertChanges(deps)
  const { kit } = deps
  const limits = createAlertLimits(kit)
  defineTopic(kit)
  return {
    api: {
      async activate(activation) {
        await limits.check(activation)
        const changed = (await change({ activation }))!
        limits.countOpened(activation, changed)
        return changed
      },
      resolveOpen: async (resolution) => (await change({ resolution }))?.alertId,
    },
    routes: (http) =>
      alertRoutes(http, kit.now, {
        ...createAlertReading(kit),
        get: async (ctx, alert) => viewOf(await findAlert(kit.db.sql, ctx, alert, 'alert:read')),
        acknowledge: (ctx, alert, given) => operations.acknowledge(deps, ctx, alert, given),
        resolve: (ctx, alert, reason) => operations.resolveByCaller(deps, ctx, alert, reason),
        delete: (ctx, alert) => operations.deleteOne(deps, ctx, alert),
        deleteAll: (ctx, alertIds) => operations.deleteAll(deps, ctx, alertIds),
      }),
    periodic: createAlertDeletions(kit, deps.register),
  }
}
