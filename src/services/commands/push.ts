import type { Push } from '../../kernel/device.ts'
import type { OutstandingRow } from './store/outstanding.ts'

export const extensionName = 'cex'

export const commandIdMax = 2_147_483_647

/** Maximum number of bytes of commands in one message. The largest payload fits, and the message fits into a packet of 1 MiB. */
export const messageBytesMax = 1_010_000

/** Returns the approximate size of a command in a message, including its type. */
export const sizeOf = (type: string, payload: string | null) =>
  type.length + 40 + (payload === null ? 0 : Buffer.byteLength(payload))

const commandText = ({ id, payload }: OutstandingRow, type?: string) =>
  `{"id":${id}${payload === null ? '' : `,"payload":${payload}`}${type === undefined ? '' : `,"type":"${type}"`}}`

/** Returns the JSON text of commands. Their payloads are already JSON texts. */
export const commandsText = (commands: OutstandingRow[], { withType = false } = {}) =>
  Buffer.from(`[${commands.map((one) => commandText(one, withType ? one.type : undefined)).join(',')}]`)

/** Returns the push of commands of one type. */
export const commandPush = (type: string, commands: OutstandingRow[]): Push => ({
  extension: extensionName,
  name: type,
  resourcePath: `/command/${type}`,
  payload: commandsText(commands),
})
