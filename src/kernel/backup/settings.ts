import { defineSettings } from '../settings.ts'

export const backupSettings = defineSettings(
  {
    BACKUP_PASSPHRASE: {
      kind: 'text',
      default: undefined,
      secret: true,
      meaning:
        'passphrase that encrypts backups, at least 12 characters; a restore needs it too, and asks for it on a terminal; ' +
        'default: backups are not encrypted',
    },
  },
  (value) => ({ passphrase: value.BACKUP_PASSPHRASE }),
)
