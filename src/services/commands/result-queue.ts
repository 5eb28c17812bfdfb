/**
 * Stores the results of an endpoint in the order of their arrival. Messages that arrive while a batch is being stored form the next batch.
 */
import type { DeviceEndpoint } from '../../kernel/device.ts'
import type { KeyedMutex } from '../../kernel/keyed-mutex.ts'
import type { ResultMessage } from './service/results.ts'
import type { DeviceCommands } from './service.ts'

export interface ResultQueue {
  /** Stores the results of a message. Returns how many belong to outstanding commands. `bytes` is the size of the message. */
  add(endpoint: DeviceEndpoint, message: ResultMessage, bytes: number): Promise<number>
  /** Closes the waiting batch when the device sends another request. Results that arrive after this request go into another batch. */
  close(endpoint: DeviceEndpoint): void
}

interface Batch {
  messages: ResultMessage[]
  bytes: number
  counts: Promise<number[]>
}

const messagesMax = 1000
const bytesMax = 256 * 1024

export function createResultQueue(
  commands: Pick<DeviceCommands, 'results'>,
  { run: inOrder, isBusy }: KeyedMutex,
): ResultQueue {
  /** The batches that have not started, by endpoint. */
  const waiting = new Map<string, Batch>()

  function openBatch(endpoint: DeviceEndpoint, message: ResultMessage, bytes: number): Batch {
    const { endpointId } = endpoint
    const messages = [message]
    const counts = inOrder(endpointId, async () => {
      if (waiting.get(endpointId)?.messages === messages) waiting.delete(endpointId)
      return await commands.results(endpoint, messages)
    })
    return { messages, bytes, counts }
  }

  return {
    async add(endpoint, message, bytes) {
      const { endpointId } = endpoint
      const batch = waiting.get(endpointId)
      if (batch && batch.messages.length < messagesMax && batch.bytes + bytes <= bytesMax) {
        const index = batch.messages.push(message) - 1
        batch.bytes += bytes
        return (await batch.counts)[index]!
      }
      const isWaiting = isBusy(endpointId)
      const next = openBatch(endpoint, message, bytes)
      if (isWaiting) waiting.set(endpointId, next)
      return (await next.counts)[0]!
    },
    close({ endpointId }) {
      waiting.delete(endpointId)
    },
  }
}
