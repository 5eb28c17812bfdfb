/** Sends the messages of a device in order, and keeps a limited number of messages while the device is offline. */
import { WaypostError } from '../errors.ts'
import { isTemporary, type Link, type Message } from './link.ts'

interface Waiting {
  /** Position of the message in the order of sending. */
  number: number
  message: Message
  resolve(payload: string): void
  reject(error: WaypostError): void
}

export interface QueueOptions {
  /** Maximum number of waiting messages. When the queue is full, the oldest message is dropped. */
  queueMax: number
  /** Called when a message was processed. */
  onSuccess(): void
  /** Called when a message was dropped because the queue is full. */
  onDrop?(error: WaypostError): void
  /** Called when a message failed and will be sent again. */
  onFailure(error: WaypostError): void
}

export function createQueue({ queueMax, onSuccess, onDrop, onFailure }: QueueOptions) {
  const waiting: Waiting[] = []
  let [link, sending, count, closed]: [Link | undefined, number, number, boolean] = [undefined, 0, 0, false]

  function sendNext() {
    while (link !== undefined && sending < link.concurrency && waiting.length > 0) void transmit(link, waiting.shift()!)
  }

  async function transmit(over: Link, item: Waiting) {
    sending++
    try {
      item.resolve(await over.request(item.message))
      onSuccess()
    } catch (failure) {
      const error = failure instanceof WaypostError ? failure : new WaypostError(String(failure), { cause: failure })
      if (closed || !isTemporary(error)) item.reject(error)
      else {
        insert(item)
        if (link === over) {
          link = undefined
          onFailure(error)
        }
      }
    } finally {
      sending--
      sendNext()
    }
  }

  /** Puts a message back to its position in the queue. */
  function insert(item: Waiting) {
    const index = waiting.findIndex(({ number }) => number > item.number)
    waiting.splice(index === -1 ? waiting.length : index, 0, item)
    dropOldest()
  }

  function dropOldest() {
    while (waiting.length > queueMax) {
      const reason =
        link === undefined ? 'for a connection' : 'because the platform answers more slowly than they are sent'
      const error = new WaypostError(`The message was dropped: more than ${queueMax} messages wait ${reason}`, {
        code: 'queue_full',
      })
      waiting.shift()!.reject(error)
      onDrop?.(error)
    }
  }

  return {
    send: (message: Message) =>
      new Promise<string>((resolve, reject) => {
        if (closed) return reject(new WaypostError('The device is closed', { code: 'aborted' }))
        waiting.push({ number: count++, message, resolve, reject })
        sendNext()
        dropOldest()
      }),
    /** Sends the waiting messages over this link. Without a link, the messages keep waiting. */
    use(opened: Link | undefined) {
      link = opened
      sendNext()
    },
    size: () => waiting.length + sending,
    close() {
      closed = true
      link = undefined
      for (const { reject } of waiting.splice(0))
        reject(new WaypostError('The device was closed before the message was sent', { code: 'aborted' }))
    },
  }
}
