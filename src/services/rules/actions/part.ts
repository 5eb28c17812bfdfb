/** The part of the service that executes actions: the executors, and the deliveries that continue in the background. */
import type { Kit } from '../../../kernel/define-service.ts'
import { createMailer } from '../../../kernel/mail.ts'
import { createSafeConnections } from '../../../kernel/safe-connections.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import { createDeliveries, defaultLimits } from '../deliveries/deliveries.ts'
import { createEmailSender, defaultEmailRetries } from '../deliveries/email.ts'
import type { Retries } from '../deliveries/model.ts'
import type { Limits } from '../deliveries/state.ts'
import { deleteOfTenant } from '../deliveries/store.ts'
import { createWebhookSender } from '../deliveries/webhook.ts'
import type { EndedActions } from '../engine/traces.ts'
import type { ActionType } from '../model.ts'
import type { Part } from '../part.ts'
import type { RulesSettings } from '../settings.ts'
import type { ActionDeps } from './deps.ts'
import { createEffects, deleteOldEffects } from './effects.ts'
import type { Executor } from './executor.ts'
import { createExecutors } from './index.ts'

export interface ActionsPart extends Part {
  executors: Record<ActionType, Executor>
}

export interface ActionsPartDeps
  extends Pick<ActionDeps, 'register' | 'commands' | 'timeSeries' | 'alerts' | 'secretValue' | 'executeRule'> {
  kit: Kit<RulesSettings>
  traces: EndedActions
  /** Returns a function that masks the secrets of a tenant. */
  maskOf?(tenantId: string): Promise<(text: string) => Promise<string>>
  limits?: Limits
  emailRetries?: Retries
}

const rowsPerDeletion = 1000

export function createActions({
  kit,
  traces,
  maskOf,
  limits = defaultLimits,
  emailRetries = defaultEmailRetries,
  ...deps
}: ActionsPartDeps): ActionsPart {
  const { webhookTimeoutSeconds } = kit.settings
  const connections = createSafeConnections({
    allowPrivate: kit.platform.allowPrivateAddresses,
    allowHttp: true,
    perHost: limits.underWayPerHost,
  })
  const mailer = createMailer(kit.platform.mail, kit.baseUrl)
  const email = createEmailSender(mailer)
  const webhooks = createWebhookSender({ connections, now: kit.now, timeoutMs: webhookTimeoutSeconds * 1000 })
  const send = { webhook: webhooks, 'send-email': email.send }
  const deliveries = createDeliveries({ kit, traces, send, limits, ...(maskOf && { maskOf }) })
  kit.bus.subscribe(TenantDeleted, ({ tenantId }) => deliveries.dropTenant(tenantId))
  kit.bus.handle('rules.forget-deliveries-of-tenant', TenantDeleted, async (sql, { tenantId }) => {
    while ((await deleteOfTenant(sql, tenantId, rowsPerDeletion)) === rowsPerDeletion);
  })
  return {
    executors: createExecutors({
      kit,
      ...deps,
      deliveries,
      effects: createEffects(kit.db),
      emailRetries,
      hasMailServer: mailer.isConfigured,
    }),
    periodic: [deleteOldEffects(kit.db)],
    async stop() {
      await deliveries.stop()
      connections.close()
      email.stop()
    },
  }
}
