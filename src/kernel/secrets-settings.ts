import { defineSettings } from './settings.ts'

export const secretsSettings = defineSettings(
  {
    NEW_MASTER_KEY: {
      kind: 'text',
      default: undefined,
      secret: true,
      lengthMin: 32,
      meaning:
        'the master key to change to, at least 32 characters, for `waypost secrets rotate` where WAYPOST_MASTER_KEY is set; ' +
        'otherwise the command generates a key file',
    },
  },
  (value) => ({ newMasterKey: value.NEW_MASTER_KEY }),
)
