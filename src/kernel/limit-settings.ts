/** The settings of limits for tenants and unauthenticated clients, of the free space on disks, and of the audit log. */
import { defineSettings, type SettingsOf } from './settings.ts'

export const limitSettings = defineSettings(
  {
    TENANT_MB_PER_DAY: {
      kind: 'integer',
      default: '100000',
      meaning:
        'megabytes of samples and of the traffic log that a tenant may store a day (UTC), unless its package sets ' +
        '`traffic`; further samples are rejected with 429 and further messages are not recorded; 0: no limit',
    },
    DISK_FREE_MIN_MB: {
      kind: 'integer',
      default: '256',
      meaning:
        'free megabytes on the disks of the data directory and of a database on the same machine below which changes are ' +
        'rejected with 507 and device messages with 503; reading, logins and deletions continue; 0: no minimum',
    },
    RATE_LIMIT_PER_TENANT: {
      kind: 'integer',
      default: '20000',
      meaning:
        'HTTP requests a second of all users, clients and keys of a tenant on each node, unless its package sets ' +
        '`requests_per_second`; bursts of twice as many are accepted; 0: no limit',
    },
    LOGINS_OPEN: {
      kind: 'integer',
      default: '20000',
      range: [1, 999_999_999],
      meaning: 'maximum number of logins that were started in a browser and are not finished; further logins get 503',
    },
    LOGINS_OPEN_PER_ADDRESS: {
      kind: 'integer',
      default: '200',
      range: [1, 999_999_999],
      meaning: 'maximum number of such logins from one IPv4 address or IPv6 /64; further logins get 429',
    },
    AUDIT_DAYS: {
      kind: 'integer',
      default: '365',
      range: [1, 36_500],
      meaning: 'days that the audit log keeps its records',
    },
  },
  (value) => ({
    /** Maximum number of bytes that each tenant may store per day; 0 means no limit. */
    bytesPerDay: value.TENANT_MB_PER_DAY * 1_000_000,
    diskFreeMinBytes: value.DISK_FREE_MIN_MB * 1_000_000,
    /** Maximum number of HTTP requests per second of each tenant; 0 means no limit. */
    requestsPerSecond: value.RATE_LIMIT_PER_TENANT,
    openLogins: { total: value.LOGINS_OPEN, perAddress: value.LOGINS_OPEN_PER_ADDRESS },
    auditDays: value.AUDIT_DAYS,
  }),
)
export type LimitSettings = SettingsOf<typeof limitSettings>
