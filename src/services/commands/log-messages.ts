import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const pushFailed = defineLogMessage({
  level: 'warn',
  text: 'could not push commands; the devices get these commands with the next command, poll or connect',
  cause: 'The database did not answer, or a message to another node could not be sent.',
  action: 'Check the database. Nothing is lost: commands stay until they expire.',
})
export const dispatchedNotRecorded = defineLogMessage({
  level: 'warn',
  text: 'could not record that commands were delivered to devices',
  cause:
    'The database did not answer. The event `commands.command.dispatched` is missing unless the commands are delivered again.',
  action: 'Check the database.',
})
