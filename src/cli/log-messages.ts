/** Log messages at warn and above of commands. */
import { defineLogMessage } from '../kernel/define-log-message.ts'

export const stopTimedOut = defineLogMessage({
  level: 'error',
  text: 'stopping took too long; exiting without finishing requests that are not acknowledged',
  cause: 'A request, a job or the database did not end within 9.5 s of the signal.',
  action: 'Nothing that was acknowledged is lost. Look for slow statements if this message appears at every stop.',
})

export const bootstrapWriteFailed = defineLogMessage({
  level: 'error',
  text: 'could not write bootstrap.json; its credentials may be outdated',
  cause: 'The file or the database could not be read or written after a password was changed.',
  action: 'Check the data directory, then restart the platform, which writes the file again.',
})

export const firstLinkFailed = defineLogMessage({
  level: 'warn',
  text: 'the link of the first start could not be made; the first password is in bootstrap.json',
  cause: 'The database could not be written right after the start.',
  action: 'Run `bin/waypost user link admin`, or sign in with the password of bootstrap.json.',
})

export const natsNotUsed = defineLogMessage({
  level: 'warn',
  text: 'WAYPOST_NATS_URL is set, but this version does not use NATS; nodes exchange messages through PostgreSQL',
  cause: 'The setting is reserved for a later version.',
  action: 'Remove the setting. Several nodes need only a common WAYPOST_DATABASE_URL and WAYPOST_MASTER_KEY.',
})
