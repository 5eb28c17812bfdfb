/**
 * Caches the devices that uplinks and downlinks belong to. Network devices without a device integration are cached too, for a short time.
 */
import { createBatcher } from '../../../kernel/batcher.ts'
import { createCache } from '../../../kernel/cache.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { DeviceIntegrationsChanged } from '../events.ts'
import { findLinkedDevices, type LinkedDevice } from '../store/uplinks.ts'

export interface Device extends LinkedDevice {
  endpoint: DeviceEndpoint
  /** `last` is the time of the latest sample, in milliseconds since 1970. Each millisecond from `first` to `last` already has a sample. */
  latestTimes: { first: number; last: number }
  /** Times before `latestTimes.first` that samples of the device have. The most recently added time is at the end. */
  earlierTimes: Set<number>
}

/** Number of earlier times that are kept. A few are enough, because few uplinks arrive out of order. */
const earlierTimesMax = 16

/** Returns the time if no sample of the device has it. Otherwise returns the millisecond after the latest sample. */
export function takeTime(device: Device, time: number): number {
  const { latestTimes: latest, earlierTimes } = device
  if (time > latest.last + 1) {
    remember(earlierTimes, latest.last)
    device.latestTimes = { first: time, last: time }
    return time
  }
  if (time >= latest.first || earlierTimes.has(time)) return ++latest.last
  remember(earlierTimes, time)
  return time
}

function remember(times: Set<number>, time: number) {
  times.add(time)
  for (const oldest of times) {
    if (times.size <= earlierTimesMax) return
    times.delete(oldest)
  }
}

export interface Devices {
  /** Finds a device. Returns undefined if it has no device integration. */
  find(appIntegrationId: number, netDeviceId: string): Promise<Device | undefined>
}

interface Entry {
  device: Device | undefined
  foundAt: number
}

const mebibyte = 1024 * 1024
const cacheBytes = 64 * mebibyte
const lookupsPerStatement = 500
/** For this time, the cache keeps that a network device has no device integration. Its uplinks then need no look-up in the database. */
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
  latestTimes: { first: row.lastSampleAt?.getTime() ?? 0, last: row.lastSampleAt?.getTime() ?? 0 },
  earlierTimes: new Set(),
})
