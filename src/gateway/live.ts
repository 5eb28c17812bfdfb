/** The topic `connection` of live streams. */
import type { Kit } from '../kernel/define-service.ts'
import { EndpointsConnected, EndpointsDisconnected } from './events.ts'

export function defineTopic({ live, bus, db }: Pick<Kit, 'live' | 'bus' | 'db'>) {
  const topic = live.define({
    name: 'connection',
    description: 'connects and disconnects of endpoints.',
    scopes: ['endpoint:read'],
    on: 'endpoint',
    facets: [],
  })
  for (const [event, connected] of [
    [EndpointsConnected, true],
    [EndpointsDisconnected, false],
  ] as const)
    bus.record(event, {
      wants: topic.isActive,
      async record(sql, payloads) {
        const events = payloads.flatMap(({ tenantId, applicationName, endpointIds, at }) =>
          endpointIds.map((endpointId) => ({
            tenantId,
            applicationName,
            endpointId,
            text: JSON.stringify({ endpointId, applicationName, connected, at }),
          })),
        )
        db.afterCommit(sql, () => topic.publish(events))
      },
    })
}
