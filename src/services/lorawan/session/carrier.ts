/**
 * When commands wait for a LoRaWAN device, signals the node that has the MQTT session of the device's app integration. Implements
 * `CommandCarrier` of the command service.
 */
import { createCache } from '../../../kernel/cache.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { CommandCarrier, EndpointKey } from '../../commands/contract.ts'
import { DeviceIntegrationsChanged } from '../events.ts'
import { downlinkFailed } from '../log-messages.ts'
import { findHolders, type HeldEndpoint, hasDevices } from '../store/sessions.ts'
import type { Downlinks } from './downlinks.ts'
import type { Sessions } from './sessions.ts'
import { DownlinkOnce, DownlinksWaiting } from './signals.ts'

/** Time after which all nodes know that a tenant has devices. Until then, another node may store a command without a signal. */
const settleMs = 1000

export function createCarrier(
  kit: Pick<Kit, 'db' | 'bus' | 'signals' | 'members' | 'log'>,
  { sessions, downlinks }: { sessions: Sessions; downlinks: Downlinks },
): CommandCarrier {
  const { db, bus, signals, members } = kit
  const tenants = createCache<{ hasDevices: boolean }>({ max: 10_000, bus })
  tenants.dropOn(DeviceIntegrationsChanged, ({ tenantId }) => tenantId)

  const start = (appIntegrationId: number, endpointIds: string[]) => {
    const publisher = sessions.find(appIntegrationId)
    if (publisher?.isConnected) downlinks.start(publisher, endpointIds)
  }
  signals.on(DownlinksWaiting, ({ appIntegrationId, endpointIds }) => start(appIntegrationId, endpointIds))
  signals.answer(DownlinkOnce, async ({ appIntegrationId, tenantId, endpointId, ...command }) => {
    const publisher = sessions.find(appIntegrationId)
    return publisher?.isConnected ? await downlinks.once(publisher, { tenantId, endpointId }, command) : false
  })
  // Commands may be waiting for a device that is new or resumed.
  bus.subscribe(DeviceIntegrationsChanged, ({ appIntegrationId, endpointIds }) => {
    start(appIntegrationId, endpointIds)
    setTimeout(() => start(appIntegrationId, endpointIds), settleMs).unref()
  })

  async function holdersOf(sql: Sql, endpoints: EndpointKey[]): Promise<HeldEndpoint[]> {
    const found: HeldEndpoint[] = []
    for (const [tenantId, ofTenant] of Map.groupBy(endpoints, (endpoint) => endpoint.tenantId)) {
      const known =
        tenants.get(tenantId) ??
        (await tenants.read(tenantId, async () => ({ hasDevices: await hasDevices(db.sql, tenantId) })))
      if (!known?.hasDevices) continue
      const ids = ofTenant.map(({ endpointId }) => endpointId)
      found.push(...(await findHolders(sql, tenantId, ids)))
    }
    return found
  }

  const messagesOf = (holders: HeldEndpoint[]) =>
    [...Map.groupBy(holders, ({ nodeId, appIntegrationId }) => `${nodeId} ${appIntegrationId}`).values()].map(
      (group) => {
        const [{ nodeId, appIntegrationId }] = group as [HeldEndpoint]
        const endpointIds = group.map(({ endpointId }) => endpointId)
        return { to: `node/${nodeId}` as const, payload: { appIntegrationId, endpointIds } }
      },
    )

  return {
    async committing(sql, endpoints) {
      if (endpoints.length === 0) return
      const messages = messagesOf(await holdersOf(sql, endpoints))
      if (messages.length > 0) await signals.sendEach(sql, DownlinksWaiting, messages)
    },
    committed(endpoints) {
      // The look-up in `committing` misses a node that took the session before the commit; this look-up finds that node. A node that takes
      // the session later reads the commands when it connects.
      const retry = async () => {
        for (const { to, payload } of messagesOf(await holdersOf(db.sql, endpoints)))
          await signals.sendNow(to, DownlinksWaiting, payload)
      }
      void retry().catch((error) => downlinkFailed(kit.log, { err: error }))
    },
    async once(endpoint, command) {
      const [holder] = await holdersOf(db.sql, [endpoint])
      if (!holder) return false
      const { appIntegrationId, nodeId } = holder
      if (nodeId !== members.nodeId)
        return await signals
          .request(nodeId, DownlinkOnce, { ...endpoint, appIntegrationId, ...command })
          .catch(() => false)
      const publisher = sessions.find(appIntegrationId)
      return publisher?.isConnected ? await downlinks.once(publisher, endpoint, command) : false
    },
  }
}
