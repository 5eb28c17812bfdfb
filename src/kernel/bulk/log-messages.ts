/** Log messages of bulk tasks, at warn and above. */
import { defineLogMessage } from '../define-log-message.ts'

export const savingProblemFailed = defineLogMessage({
  level: 'warn',
  text: 'could not store the error of a bulk task; the task does not show it',
  cause: 'A page of the task failed, and the database did not store the reason in the task.',
  action: 'Nothing: the job queue retries the task. Check the database if this message repeats.',
})

export const pageFailed = defineLogMessage({
  level: 'warn',
  text: 'a page of a bulk task failed in its last attempt; processing its items one by one',
  cause: 'The service threw an error for at least one item of the page.',
  action: 'Look at the error. Items that fail again are marked as failed; the task continues.',
})
