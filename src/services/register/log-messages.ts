/** Log messages of the register, at warn and above. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const countingEndpointsFailed = defineLogMessage({
  level: 'warn',
  text: 'could not count the endpoints of a tenant; the next search after a minute retries',
  cause: 'The database did not answer the count, which decides how searches of metadata are planned.',
  action: 'Check the database if this message repeats. Until then searches of this tenant use the last count.',
})

export const deferredWriteFailed = defineLogMessage({
  level: 'warn',
  text: 'could not store the last activity or place of endpoints; the next messages of these endpoints report activity and place again',
  cause: 'The database did not accept the write.',
  action: 'Check the database if this message repeats. Until then the directory shows an older activity or place.',
})
