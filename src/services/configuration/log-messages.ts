/** Log messages at warn and above of the configuration registry. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const pushingFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read configurations to push; retrying up to five times',
  cause: 'The database was unavailable or refused the query; `err` says which.',
  action:
    'Check the database if this message repeats. Endpoints that get no push get their configuration when they connect again or ask for it.',
})

export const handoverNotRecorded = defineLogMessage({
  level: 'warn',
  text: 'could not record that a configuration was delivered; its status stays PENDING until the device reports',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Nothing, unless this message repeats: then check the database. The device has the configuration.',
})
