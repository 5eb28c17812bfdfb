import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const applicationsSettings = defineSettings(
  {
    GENERATE_APPLICATION_NAMES: {
      kind: 'switch',
      default: 'off',
      meaning: 'on: the platform generates application names, and requests must not contain a name',
    },
  },
  (value) => ({
    generateApplicationNames: value.GENERATE_APPLICATION_NAMES,
  }),
)
export type ApplicationsSettings = SettingsOf<typeof applicationsSettings>
