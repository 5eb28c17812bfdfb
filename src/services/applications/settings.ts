import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const applicationsSettings = defineSettings(
  {
    GENERATE_APPLICATION_NAMES: {
      kind: 'switch',
      default: 'off',
      meaning: 'on: application names are generated and must not be given',
    },
  },
  (value) => ({
    generateApplicationNames: value.GENERATE_APPLICATION_NAMES,
  }),
)
export type ApplicationsSettings = SettingsOf<typeof applicationsSettings>
