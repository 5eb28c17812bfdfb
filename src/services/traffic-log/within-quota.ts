import type { Kit } from '../../kernel/define-service.ts'
import type { Record } from './level.ts'
import type { TrafficLogSettings } from './settings.ts'

/** Bytes that a record counts towards the quota besides its payload. */
const headerBytes = 64
const leftOut = Promise.resolve()

/** Drops records of a tenant that has used up its quota of the day. The messages are still processed, so devices can be managed. */
export const withinQuota =
  ({ quota, settings }: Pick<Kit<TrafficLogSettings>, 'quota' | 'settings'>, add: Record): Record =>
  (record) => {
    const bytes = headerBytes + Math.min(record.payload.length, settings.payloadBytesMax)
    return quota.allowsRecord(record.tenantId, bytes) ? add(record) : leftOut
  }
