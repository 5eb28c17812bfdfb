/** Log messages at warn and above of the assembly. */
import { defineLogMessage } from '../kernel/define-log-message.ts'

export const reloadFailed = defineLogMessage({
  level: 'error',
  text: 'reload after a restore or lost signals failed; retrying in 1 s',
  cause: 'The database did not return the data key or the job queues after a restore or a lost connection.',
  action:
    'Check the database if this message repeats. Until a reload succeeds, secrets of restored data cannot be opened.',
})

export const authenticationOff = defineLogMessage({
  level: 'warn',
  text: 'AUTHENTICATION IS OFF (WAYPOST_AUTH): every caller may do everything in tenant "default"',
  cause: 'WAYPOST_AUTH is off, or names APIs without authentication (`apis`).',
  action: 'Set WAYPOST_AUTH to on unless only trusted callers can reach the platform.',
})

export const consoleBuildFailed = defineLogMessage({
  level: 'warn',
  text: 'could not build the web console; the API is served without it',
  cause:
    'The sources or packages of the console are incomplete, its cache folder cannot be written, or the build took longer than 15 minutes.',
  action: 'Read the error. Set WAYPOST_CONSOLE_DIR to a ready-made build, or repair the installation and restart.',
})

export const stopAfterFailedStartFailed = defineLogMessage({
  level: 'warn',
  text: 'could not close after a failed start; the process exits',
  cause: 'A part that was already started could not be stopped.',
  action: 'Look at the error of the start, which is also reported.',
})
