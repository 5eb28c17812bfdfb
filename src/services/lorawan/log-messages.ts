/** Log messages at warn and above of the LoRaWAN connector. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const sandboxFailed = defineLogMessage({
  level: 'error',
  text: 'the sandbox of payload formatters failed; the formatter was run again, or the uplink was dropped',
  cause: 'A thread of the sandbox ended, or an internal call failed; `err` says which.',
  action: 'Report this problem with `err`. The connector continues with new threads.',
})

export const uplinkNotStored = defineLogMessage({
  level: 'warn',
  text: 'could not store a LoRaWAN uplink; retrying in 1 s, and the network keeps the uplink until then',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Check the database if this message repeats.',
})

export const statisticsNotWritten = defineLogMessage({
  level: 'warn',
  text: 'could not write the statistics of LoRaWAN devices; retrying in 1 s',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Check the database if this message repeats. Uplinks are not affected.',
})

export const sessionsNotClaimed = defineLogMessage({
  level: 'warn',
  text: 'could not read LoRaWAN sessions; retrying in 2 s',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Check the database if this message repeats. Open sessions continue.',
})

export const sessionStateNotWritten = defineLogMessage({
  level: 'warn',
  text: 'could not write the state of a LoRaWAN session; lists show an older state',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Check the database if this message repeats.',
})

export const sessionNotReset = defineLogMessage({
  level: 'warn',
  text: 'could not record that a LoRaWAN session was reset; the session is opened again after a pause',
  cause: 'The database was unavailable or refused the statement; `err` says which.',
  action: 'Check the database if this message repeats. The network keeps uplinks meanwhile.',
})

export const downlinkFailed = defineLogMessage({
  level: 'warn',
  text: 'could not deliver commands to a LoRaWAN device; the commands are read again after a second and with the next connection',
  cause: 'The database was unavailable, or the session ended meanwhile; `err` says which.',
  action: 'Nothing, unless this message repeats: then check the database.',
})
