import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const softwareSettings = defineSettings(
  {
    SOFTWARE_LINK_TTL_SECONDS: {
      kind: 'integer',
      default: '86400',
      range: [1, 999_999_999],
      meaning: 'seconds that a download link of a software file in a message to a device is valid',
    },
  },
  (value) => ({ linkSeconds: value.SOFTWARE_LINK_TTL_SECONDS }),
)
export type SoftwareSettings = SettingsOf<typeof softwareSettings>
