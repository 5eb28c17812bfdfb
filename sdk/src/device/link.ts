/** The interface of the connection of a device, for any protocol. */
import { WaypostError } from '../errors.ts'

export interface Message {
  extension: string
  resource: string
  payload: string
}

/** A message that the platform sent without a request: a command, a configuration or software. */
export type Push = (extension: string, path: string[], payload: string) => void

export interface Link {
  /** Sends a message; resolves with the payload of the response when the platform has processed it. */
  request(message: Message): Promise<string>
  /** Maximum number of messages that wait for their responses at the same time. */
  concurrency: number
  /** True if the platform pushes messages over this connection. Otherwise the device polls. */
  pushes: boolean
  close(): Promise<void>
}

export interface LinkEvents {
  onPush: Push
  /** Called when the connection was lost. */
  onLost(error: WaypostError): void
}

/**
 * Returns whether a message is sent again after this error: it got no response, or the platform could not store it. After any other error
 * the message is dropped, because otherwise the messages behind it would wait for ever.
 */
export const isTemporary = ({ status, code }: WaypostError) =>
  status === undefined ? code !== 'invalid_argument' : status === 429 || status >= 500

/** Returns the error that the platform sent to a device: `{"statusCode": 400, "reasonPhrase": "…"}`. */
export function rejectionOf(payload: string, { extension, resource }: Pick<Message, 'extension' | 'resource'>) {
  const operation = `${extension}/${resource}`
  try {
    const { statusCode, reasonPhrase } = JSON.parse(payload) as { statusCode?: number; reasonPhrase?: string }
    return new WaypostError(reasonPhrase ?? 'The platform rejected the message', { status: statusCode, operation })
  } catch (cause) {
    return new WaypostError('The platform rejected the message', { code: 'unreadable', operation, cause })
  }
}
