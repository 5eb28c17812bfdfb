/** The topic `alerts` of live streams. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { LiveEvent } from '../../../kernel/live/live.ts'
import { AlertChanged } from '../events.ts'
import type { AlertView, LifecycleEventType } from './model.ts'
import { findChangesSince } from './store/changes.ts'

/**
 * A stream that resumes at a time also gets the changes of this many seconds before that time. The stream may have missed them: a change is
 * stored up to some seconds after its time, and its time comes from the clock of the node that made the change.
 */
const slackSeconds = 35

export function defineTopic({ live, bus, db }: Pick<Kit, 'live' | 'bus' | 'db'>) {
  const topic = live.define({
    name: 'alerts',
    description: 'changes of alerts, with the alert as in `alerts.list`.',
    scopes: ['alert:read'],
    on: 'endpoint',
    facets: ['severities', 'alertTypes'],
    slackSeconds,
    async history({ tenantIds, applicationName, endpointIds, since, limit }) {
      const changes = await findChangesSince(db.sql, {
        tenantId: tenantIds[0]!,
        applicationName,
        endpointIds,
        since: new Date(since / 1000),
        limit: limit + 1,
      })
      if (changes.length > limit) return 'too_many'
      return changes.map(({ applicationName: name, ...change }) => eventOf(name ?? undefined, change))
    },
  })
  bus.record(AlertChanged, {
    wants: topic.isWanted,
    async record(sql, payloads) {
      const events = payloads.map(({ applicationName, ...change }) => eventOf(applicationName, change))
      db.afterCommit(sql, () => topic.publish(events))
    },
  })
}

function eventOf(
  applicationName: string | undefined,
  { eventId, eventType, alert }: { eventId: string; eventType: LifecycleEventType; alert: AlertView },
): LiveEvent {
  const { tenantId, severityLevel, alertType, entityType, entityId } = alert
  return {
    tenantId,
    ...(entityType === 'ENDPOINT' && { applicationName, endpointId: entityId }),
    id: eventId,
    facets: { severities: severityLevel, alertTypes: alertType },
    text: JSON.stringify({ id: eventId, eventType, alert }),
  }
}
