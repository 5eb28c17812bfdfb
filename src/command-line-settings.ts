/** Settings of commands that call the API. They are also part of the table in config.ts. */
import type { SettingTable } from './kernel/settings.ts'

export const commandLineSettings = {
  DATA: { kind: 'path', default: './data', meaning: 'directory of the embedded database, keys and blobs' },
  URL: {
    kind: 'web address',
    default: undefined,
    meaning: 'address of the platform for commands such as waypost endpoints list; default: the address in the context',
  },
  TENANT: {
    kind: 'text',
    default: undefined,
    meaning: 'tenant of commands that use bootstrap.json: `default` (if unset) or `platform`',
  },
  API_KEY: {
    kind: 'text',
    default: undefined,
    secret: true,
    meaning: 'API key of commands such as waypost endpoints list; default: the login of the context',
  },
} as const satisfies SettingTable
