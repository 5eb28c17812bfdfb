/** Log messages at warn and above of software. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const pushingTargetsFailed = defineLogMessage({
  level: 'warn',
  text: 'could not offer software to connected endpoints; retrying in 1 s',
  cause: 'The database did not answer.',
  action:
    'Nothing: the platform tries again, and endpoints that ask or reconnect get their version. Check the database if this message repeats.',
})

export const readingDatesFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read the next rollout date; retrying in 1 s',
  cause: 'The database did not answer.',
  action:
    'Check the database if this message repeats. Until the search succeeds, connected endpoints wait for versions that become due.',
})

export const rolloutHalted = defineLogMessage({
  level: 'warn',
  text: 'the failure threshold of a software version was reached; the version is not offered any more',
  cause: 'Too many endpoints reported that they could not apply the version.',
  action: 'Look at the attempts of the endpoints, then resume the rollout or replace the version.',
})

export const softwareContentMissing = defineLogMessage({
  level: 'error',
  text: 'the content of a software file is missing in the blob store; the download fails',
  cause: 'The content was deleted outside of the platform, or the blob store was not restored with the database.',
  action: 'Restore the content from a backup, or upload the file again.',
})
