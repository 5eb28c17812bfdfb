import { defineSettings, type SettingsOf } from '../kernel/settings.ts'

/** Minimum length of a password, even if the setting is smaller. */
const lengthFloor = 8

export const identitySettings = defineSettings(
  {
    PASSWORD_LENGTH: {
      kind: 'integer',
      default: '8',
      meaning:
        'least number of characters of a new password of a user, 8 to 64; passwords that were set before keep working',
    },
    PASSWORD_ALLOW_COMMON: {
      kind: 'switch',
      default: 'off',
      meaning: 'on: a new password may be one of the 49,000 most common ones',
    },
  },
  (value) => ({
    passwordLengthMin: Math.min(64, Math.max(lengthFloor, value.PASSWORD_LENGTH)),
    refuseCommonPasswords: !value.PASSWORD_ALLOW_COMMON,
  }),
)
export type IdentitySettings = SettingsOf<typeof identitySettings>
