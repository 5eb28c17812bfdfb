/** Cache of the devices that uplinks and downlinks belong to. Devices that are not mapped are cached too, for a short time. */
import { createBatcher } from '../../../kernel/batcher.ts'
import { createCache } from '../../../kernel/cache.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { DeviceIntegrationsChanged } from '../events.ts'
import { findLinkedDevices, type LinkedDevice } from '../store/uplinks.ts'

export interface Device extends LinkedDevice {
  endpoint: DeviceEndpoint
  /** Milliseconds since 1970 of the latest sample; later samples of the same millisecond get the next one. */
  lastTime: number
}

export interface Devices {
  /** Undefined if the device is not mapped. */
  find(appIntegrationId: number, netDeviceId: string): Promise<Device | undefined>
}

interface Entry {
  device: Device | undefined
  foundAt: number
}

const mebibyte = 1024 * 1024
const cacheBytes = 64 * mebibyte
const lookupsPerStatement = 500
/** A device without a device integration is cached for this time, because a network may publish uplinks of many of them. */
const unmappedMs = 10_000

const keyOf = (appIntegrationId: number, netDeviceId: string) => `${appIntegrationId} ${netDeviceId}`

export function createDevices({ db, bus }: Pick<Kit, 'db' | 'bus'>): Devices {
  const cache = createCache<Entry>({
    max: cacheBytes,
    sizeOf: ({ device }) => (device ? 1000 + 2 * (device.formatter?.length ?? 0) : 100),
    isExpired: ({ device, foundAt }) => device === undefined && monotonicMs() - foundAt > unmappedMs,
    bus,
  })
  cache.dropOn(DeviceIntegrationsChanged, ({ appIntegrationId, netDeviceIds }) =>
    netDeviceIds.map((netDeviceId) => keyOf(appIntegrationId, netDeviceId)),
  )
  const load = createBatcher<{ appIntegrationId: number; netDeviceId: string }, LinkedDevice>(async (devices) => {
    const rows = await findLinkedDevices(db.sql, devices)
    const found = new Map(rows.map((row) => [keyOf(row.appIntegrationId, row.netDeviceId), row]))
    return devices.map(({ appIntegrationId, netDeviceId }) => found.get(keyOf(appIntegrationId, netDeviceId)))
  }, lookupsPerStatement)
  return {
    async find(appIntegrationId, netDeviceId) {
      const key = keyOf(appIntegrationId, netDeviceId)
      const known =
        cache.get(key) ??
        (await cache.read(key, async () => {
          const row = await load({ appIntegrationId, netDeviceId })
          return { device: row && deviceOf(row), foundAt: monotonicMs() }
        }))
      return known?.device
    },
  }
}

export const deviceOf = (row: LinkedDevice): Device => ({
  ...row,
  endpoint: {
    tenantId: row.tenantId,
    applicationName: row.appName,
    versionName: row.appVersionName,
    endpointId: row.endpointId,
  },
  lastTime: row.lastSampleAt?.getTime() ?? 0,
})
