import type { Kit } from '../../kernel/define-service.ts'
import type { Record } from './level.ts'
import type { TrafficLogSettings } from './settings.ts'

/** Bytes of a record besides its payload, for the quota. */
const headerBytes = 64
const leftOut = Promise.resolve()

/** Leaves out records of a tenant that has used its quota of the day, so that its devices can still be managed. */
export const withinQuota =
  ({ quota, settings }: Pick<Kit<TrafficLogSettings>, 'quota' | 'settings'>, add: Record): Record =>
  (record) => {
    const bytes = headerBytes + Math.min(record.payload.length, settings.payloadBytesMax)
    return quota.allowsRecord(record.tenantId, bytes) ? add(record) : leftOut
  }
