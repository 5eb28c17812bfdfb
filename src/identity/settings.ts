import { defineSettings, type SettingsOf } from '../kernel/settings.ts'

export const identitySettings = defineSettings(
  {
    PASSWORD_LENGTH: {
      kind: 'integer',
      default: '8',
      range: [8, 64],
      meaning: 'minimum number of characters of a new password of a user; passwords that were set before keep working',
    },
    PASSWORD_ALLOW_COMMON: {
      kind: 'switch',
      default: 'off',
      meaning: 'on: a new password may be one of the 49,000 most common ones',
    },
  },
  (value) => ({
    passwordLengthMin: value.PASSWORD_LENGTH,
    refuseCommonPasswords: !value.PASSWORD_ALLOW_COMMON,
  }),
)
export type IdentitySettings = SettingsOf<typeof identitySettings>
