import { daysOrForEver, defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const commandsSettings = defineSettings(
  {
    COMMAND_AWAIT_SECONDS: {
      kind: 'integer',
      default: '60',
      range: [1, 86_400],
      meaning: 'maximum `awaitTimeout` of a command: seconds that a request may wait for the result',
    },
    COMMAND_DAYS: {
      kind: 'integer',
      default: '30',
      range: daysOrForEver,
      meaning: 'days that executed and expired commands and their batches are kept; 0: for ever',
    },
  },
  (value) => ({ awaitSecondsMax: value.COMMAND_AWAIT_SECONDS, days: value.COMMAND_DAYS }),
)
export type CommandsSettings = SettingsOf<typeof commandsSettings>
