/** Deletes the data of deleted endpoints, applications and tenants. */
import type { Sql } from '../../../kernel/db.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { AppIntegrationChanged, DeviceIntegrationsChanged } from '../events.ts'
import * as store from '../store/deletions.ts'
import { deleteDevicesOfEndpoints, updateVersionOfEndpoint } from '../store/device-integrations.ts'
import { appResourceName, type Deps, deviceResourceName, gatewayResourceName } from './access.ts'

export interface Deletions {
  forgetEndpoints(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  forgetApplication(sql: Sql, application: { tenantId: string; applicationName: string }): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  /** Stores the new version of an endpoint that was moved to another version. */
  moveEndpoint(sql: Sql, endpoint: { tenantId: string; endpointId: string; versionName: string }): Promise<void>
}

const ForgetTenant = defineJob<{ tenantId: string }>('lorawan.forget-tenant', { timeoutSeconds: 3600 })
const batchMax = 1000

export function createDeletions({ kit, identity, register }: Pick<Deps, 'kit' | 'identity' | 'register'>): Deletions {
  const { bus, db, jobs } = kit
  const publishApps = (sql: Sql, tenantId: string, ids: number[]) =>
    bus.publishAll(
      sql,
      AppIntegrationChanged,
      ids.map((appIntegrationId) => ({ tenantId, appIntegrationId })),
    )
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    while ((await store.deleteSomeOfTenant(db.sql, tenantId, batchMax)) > 0);
    await db.tx(async (sql) => publishApps(sql, tenantId, await store.deleteIntegrationsOfTenant(sql, tenantId)))
  })
  return {
    async forgetEndpoints(sql, { tenantId, endpointIds, until }) {
      const unregistered = { endpointIds, until, registered: register.relation }
      const devices = await deleteDevicesOfEndpoints(sql, unregistered)
      for (const { id } of devices) await identity.forgetResource(sql, tenantId, deviceResourceName(id))
      for (const [appIntegrationId, ofApp] of Map.groupBy(devices, (device) => device.appIntegrationId))
        await bus.publish(sql, DeviceIntegrationsChanged, {
          tenantId,
          appIntegrationId,
          netDeviceIds: ofApp.map(({ netDeviceId }) => netDeviceId),
          endpointIds,
        })
      for (const id of await store.deleteGatewaysOfEndpoints(sql, unregistered))
        await identity.forgetResource(sql, tenantId, gatewayResourceName(id))
    },
    async forgetApplication(sql, application) {
      const ids = await store.deleteOfApplication(sql, application)
      for (const id of ids) await identity.forgetResource(sql, application.tenantId, appResourceName(id))
      await publishApps(sql, application.tenantId, ids)
    },
    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),
    async moveEndpoint(sql, { tenantId, endpointId, versionName }) {
      await store.updateVersionOfGateway(sql, endpointId, versionName)
      const device = await updateVersionOfEndpoint(sql, endpointId, versionName)
      if (!device) return
      const { appIntegrationId, netDeviceId } = device
      const payload = { tenantId, appIntegrationId, netDeviceIds: [netDeviceId], endpointIds: [endpointId] }
      await bus.publish(sql, DeviceIntegrationsChanged, payload)
    },
  }
}
