/**
 * The limits of each tenant. They come from the tenant's package or, if the package has no limits, from the settings. A change applies within a
 * few seconds.
 */
import { monotonicMs } from './clock.ts'
import type { Log } from './log.ts'
import { tenantLimitsUnknown } from './log-messages.ts'

/** In every field, 0 means no limit. */
export interface TenantLimitValues {
  /** Bytes of samples and of the traffic log per day. */
  bytesPerDay: number
  /** HTTP requests by all callers of the tenant per second. */
  requestsPerSecond: number
}

/** Reads the limits in the packages of these tenants. 0 means that the package has no limit of its own. */
export type ReadTenantLimits = (tenantIds: string[]) => Promise<Map<string, TenantLimitValues>>

export interface TenantLimits {
  /** Returns the limits of a tenant without waiting. Until the tenant's package is read, these are the limits of the settings. */
  get(tenantId: string): TenantLimitValues
  /** Sets the function that reads the limits of packages; the tenants service calls it. */
  setSource(read: ReadTenantLimits): void
}

interface Entry {
  values: TenantLimitValues
  readAt: number
}

const refreshMs = 2000

export function createTenantLimits(defaults: TenantLimitValues, log: Log): TenantLimits {
  const entries = new Map<string, Entry>()
  const requestedTenants = new Set<string>()
  let read: ReadTenantLimits | undefined
  let isReading = false

  async function refresh() {
    isReading = true
    // Tenants whose limits are requested in the same turn of the event loop share a query.
    await Promise.resolve()
    const tenantIds = [...requestedTenants]
    requestedTenants.clear()
    try {
      const found = await read!(tenantIds)
      for (const tenantId of tenantIds) entryOf(tenantId).values = withDefaults(found.get(tenantId))
    } catch (error) {
      tenantLimitsUnknown(log, { err: error, tenants: tenantIds.length })
    }
    isReading = false
    if (requestedTenants.size > 0) void refresh()
  }

  const withDefaults = (values: TenantLimitValues | undefined): TenantLimitValues => ({
    bytesPerDay: values?.bytesPerDay || defaults.bytesPerDay,
    requestsPerSecond: values?.requestsPerSecond || defaults.requestsPerSecond,
  })

  function entryOf(tenantId: string): Entry {
    let entry = entries.get(tenantId)
    if (!entry) {
      entry = { values: defaults, readAt: Number.NEGATIVE_INFINITY }
      entries.set(tenantId, entry)
    }
    return entry
  }

  return {
    get(tenantId) {
      const entry = entryOf(tenantId)
      const at = monotonicMs()
      if (read && at - entry.readAt > refreshMs) {
        entry.readAt = at
        requestedTenants.add(tenantId)
        if (!isReading) void refresh()
      }
      return entry.values
    },
    setSource(source) {
      read = source
    },
  }
}
