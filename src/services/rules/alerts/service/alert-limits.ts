/**
 * Limits the alerts of a tenant and the different keys of their metadata. The present numbers of alerts and keys are cached for some
 * seconds, so alerts that several nodes open at the same time can exceed a limit by a few.
 */
import { createCache } from '../../../../kernel/cache.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { AlertRefused } from '../../errors.ts'
import type { RulesSettings } from '../../settings.ts'
import { findOpen } from '../store/alerts.ts'
import { countAlerts, findMetadataKeys } from '../store/lists.ts'
import type { Activation, Changed } from './changes.ts'

/** Limits of the metadata of an alert: its keys, the length of a key, and the bytes of its JSON. */
const keysMax = 500
const keyLengthMax = 128
const bytesMax = 64 * 1024
/** Maximum number of different keys in the metadata of all alerts of a tenant together. */
export const keysOfTenantMax = 10_000

const cacheMs = 10_000
const cacheBytesMax = 16 * 1024 * 1024
const keyBytes = 64

interface Usage {
  tenantId: string
  alerts: number
  keys: Set<string>
  validUntil: number
}

export interface AlertLimits {
  /** Throws `AlertRefused` if the metadata is too large, or if a new alert or a new key would exceed a limit of the tenant. */
  check(activation: Activation): Promise<void>
  /** Adds an alert to the cached number of alerts, if the activation opened one. */
  countOpened(activation: Activation, changed: Changed): void
}

export function createAlertLimits({
  db: { sql },
  now,
  settings,
}: Pick<Kit<Pick<RulesSettings, 'alertsPerTenant'>>, 'db' | 'now' | 'settings'>): AlertLimits {
  const { alertsPerTenant } = settings
  const usages = createCache<Usage>({
    max: cacheBytesMax,
    sizeOf: ({ keys }) => keys.size * keyBytes + [...keys].reduce((sum, key) => sum + key.length, 0),
    isExpired: ({ validUntil }) => validUntil <= now().getTime(),
  })

  const usageOf = (tenantId: string) =>
    usages.read(tenantId, async () => {
      const all = { tenantId, all: true as const }
      const [alerts, keys] = await Promise.all([
        countAlerts(sql, all),
        findMetadataKeys(sql, all, 'ALERT', keysOfTenantMax),
      ])
      return { tenantId, alerts, keys: new Set(keys), validUntil: now().getTime() + cacheMs }
    })

  return {
    async check(activation) {
      const { tenantId, metadata } = activation
      const keys = metadata ? checkedKeys(metadata) : []
      const usage = (await usageOf(tenantId))!
      const fresh = keys.filter((key) => !usage.keys.has(key))
      if (fresh.length > 0 && usage.keys.size + fresh.length > keysOfTenantMax)
        throw AlertRefused({
          problem: `metadataExpression: the metadata of all alerts has more than ${keysOfTenantMax} different keys`,
        })
      // If the alert is already open, the activation only renews it and adds no alert.
      if (usage.alerts >= alertsPerTenant && (await findOpen(sql, [activation])).length === 0)
        throw AlertRefused({ problem: `the tenant has ${alertsPerTenant} alerts, the maximum; delete alerts` })
      for (const key of fresh) usage.keys.add(key)
    },
    countOpened({ tenantId }, { change }) {
      const usage = change === 'ACTIVATED' ? usages.get(tenantId) : undefined
      if (usage) usage.alerts++
    },
  }
}

function checkedKeys(metadata: Record<string, unknown>): string[] {
  const refuse = (problem: string) => AlertRefused({ problem: `metadataExpression: ${problem}` })
  const keys = Object.keys(metadata)
  if (keys.length > keysMax) throw refuse(`expected at most ${keysMax} keys`)
  if (keys.some((key) => key.length > keyLengthMax)) throw refuse(`expected keys of at most ${keyLengthMax} characters`)
  if (Buffer.byteLength(JSON.stringify(metadata)) > bytesMax) throw refuse(`expected at most ${bytesMax} bytes of JSON`)
  return keys
}
