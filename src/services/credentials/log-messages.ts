/** Log messages at warn and above of the service. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const lastUsesNotWritten = defineLogMessage({
  level: 'warn',
  text: 'could not store the times at which credentials were last used; these times are dropped, and later times are stored',
  cause: 'The database rejected the statement or was not reachable. Clients were authenticated.',
  action:
    'Nothing, unless this message repeats: then check the database. Only `lastUseDate` of credentials is affected.',
})
