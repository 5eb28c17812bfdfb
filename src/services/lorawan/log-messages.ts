/** Log messages at warn and above of the LoRaWAN connector. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const sandboxFailed = defineLogMessage({
  level: 'error',
  text: 'the sandbox of payload formatters failed; the formatter was run again or its uplink dropped',
  cause: 'A thread of the sandbox ended, or an internal call failed; `err` says which.',
  action: 'Report it with `err`. The connector goes on with new threads.',
})
