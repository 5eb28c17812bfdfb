import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const binaryDataSettings = defineSettings(
  {
    BLOB_QUOTA_MB: {
      kind: 'integer',
      default: '0',
      meaning:
        'megabytes (10^6 bytes) of files and blobs that the endpoints of one tenant may keep, unless its package says ' +
        'otherwise (`disk_size`); 0 is no limit',
    },
    UPLOAD_TOKEN_TTL_SECONDS: {
      kind: 'integer',
      default: '3600',
      meaning: "lifetime of a device's upload token",
    },
  },
  (value) => ({
    uploadTokenSeconds: Math.max(1, value.UPLOAD_TOKEN_TTL_SECONDS),
    /** For each tenant, 0: no limit. */
    quotaBytes: value.BLOB_QUOTA_MB * 1_000_000,
  }),
)
export type BinaryDataSettings = SettingsOf<typeof binaryDataSettings>
