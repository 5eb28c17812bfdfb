import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const binaryDataSettings = defineSettings(
  {
    BLOB_QUOTA_MB: {
      kind: 'integer',
      default: '0',
      meaning:
        'maximum size in megabytes (10^6 bytes) of all files and blobs of a tenant whose package sets no limit ' +
        '(`disk_size`); 0: no limit',
    },
    UPLOAD_TOKEN_TTL_SECONDS: {
      kind: 'integer',
      default: '3600',
      range: [1, 999_999_999],
      meaning: 'seconds that an upload token of a device is valid',
    },
  },
  (value) => ({
    uploadTokenSeconds: value.UPLOAD_TOKEN_TTL_SECONDS,
    /** Quota of a tenant that has no quota of its own; 0 means no limit. */
    quotaBytes: value.BLOB_QUOTA_MB * 1_000_000,
  }),
)
export type BinaryDataSettings = SettingsOf<typeof binaryDataSettings>
