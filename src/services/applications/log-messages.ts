/** Log messages at warn and above of the service. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const invalidConfigurationIgnored = defineLogMessage({
  level: 'warn',
  text: 'invalid parts of a stored configuration are ignored; their defaults apply',
  cause: 'A configuration was stored before its schema became stricter. `problems` names the paths and the violations.',
  action: 'Correct the configuration of the service instance at the tenant, application or version in the fields.',
})
