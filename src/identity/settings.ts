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
      meaning: 'on: a new password may be one of the 49,000 most common passwords',
    },
    GRANTS_PER_SUBJECT: {
      kind: 'integer',
      default: '20000',
      range: [100, 1_000_000],
      meaning:
        'maximum number of scopes that grants give to one user, client or API key, and of scopes that grants give to all roles of a tenant ' +
        'together',
    },
  },
  (value) => ({
    grantsPerSubject: value.GRANTS_PER_SUBJECT,
    passwordLengthMin: value.PASSWORD_LENGTH,
    refuseCommonPasswords: !value.PASSWORD_ALLOW_COMMON,
  }),
)
export type IdentitySettings = SettingsOf<typeof identitySettings>
