import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const recheckFailed = defineLogMessage({
  level: 'warn',
  text: 'could not check the permissions of a stream; retrying in half a second',
  cause: 'The database did not answer; the stream continues with the permissions of the last check.',
  action: 'If this message repeats, check the database and its connections.',
})

export const subscriptionFailed = defineLogMessage({
  level: 'error',
  text: 'a subscription of a stream could not be started and was ended; its caller may subscribe again',
  cause: 'The database did not answer while the permissions of the caller were checked.',
  action: 'Read the error. If this message repeats, check the database and its connections.',
})

export const historyFailed = defineLogMessage({
  level: 'warn',
  text: 'could not read the history of a topic for a stream; the stream got a gap',
  cause: 'The database did not answer, or a statement took too long.',
  action: 'Nothing if this message appears once. If this message repeats, read the error and check the database.',
})

export const valueUnread = defineLogMessage({
  level: 'warn',
  text: 'could not read a value for streams; the streams keep the previous value; retrying',
  cause: 'The database did not answer, or too many such reads run at the same time.',
  action: 'Nothing if this message appears once. If this message repeats, read the error and check the database.',
})
