/**
 * Sends the messages of a few milliseconds in one batch. Batches are sent one after the other. A message to one node is sent immediately if
 * at least a few milliseconds have passed since the last batch.
 */
import { monotonicMs } from '../clock.ts'
import type { Log } from '../log.ts'
import { framesOf } from './frames.ts'
import { sendingFailed } from './log-messages.ts'
import type { Address, Transport } from './transport.ts'

export interface Pending {
  address: Address
  topic: string
  /** The payload as JSON. */
  payload: string
  /** Id of the row in `kernel.signals`. It is undefined for a message that is not stored and may be lost. */
  rowId: number | undefined
  /**
   * Called when the message is sent or dropped. For a message without a row, `sent` is true if the transport accepted the message, and
   * false if the message is lost.
   */
  done?(sent: boolean): void
}

export interface Relay {
  add(pending: Pending): void
  /** Returns the ids of rows that this relay is about to send. */
  pendingRows(): number[]
  /** Sends all pending messages; resolves when none is left. */
  flush(): Promise<void>
}

const batchMs = 5
/** The pause between batches to `all` while messages keep arriving. Caches can wait this long, and each batch wakes every node. */
const steadyMs = 20
const batchBytes = 1_000_000
/** Above this number of bytes, messages without a row are dropped. Messages with a row are read from the table later. */
const pendingBytesMax = 32_000_000

export function createRelay(deps: {
  transport: Transport
  nodeId: string
  key(): Promise<Buffer>
  log: Log
  countSent(count: number): void
  countDropped(count: number): void
}): Relay {
  const { transport, nodeId, log } = deps
  const pending: Pending[] = []
  /** Ids of the rows whose messages are pending or being sent. */
  const rowIds = new Set<number>()
  let pendingBytes = 0
  let number = 0
  let sending: Promise<void> | undefined
  let sentAt = Number.NEGATIVE_INFINITY
  const pause = createPause()

  const urgentMs = () => Math.max(0, sentAt + batchMs - monotonicMs())

  function takeBatch(): Pending[] {
    let [count, bytes] = [0, 0]
    // A message larger than a batch is sent as a batch of its own.
    while (count < pending.length && bytes < batchBytes) bytes += pending[count++]!.payload.length
    pendingBytes -= bytes
    return pending.splice(0, count)
  }

  async function send(batch: Pending[]) {
    try {
      const key = await deps.key()
      const frames = [...Map.groupBy(batch, ({ address }) => address)].flatMap(([address, messages]) =>
        framesOf(key, nodeId, ++number, address, messages).map((text) => ({ address, text })),
      )
      await transport.send(frames, rowsOf(batch))
      deps.countSent(batch.length)
      for (const { done } of batch) done?.(true)
    } catch (error) {
      // The rows stay in the table, and the sweep sends them later.
      const lost = batch.filter(({ rowId }) => rowId === undefined).length
      if (lost > 0) deps.countDropped(lost)
      sendingFailed(log, { err: error, messages: batch.length, lost })
      for (const { done, rowId } of batch) done?.(rowId !== undefined)
    }
    for (const rowId of rowsOf(batch)) rowIds.delete(rowId)
  }

  async function sendAll() {
    while (pending.length > 0) {
      const isUrgent = pending.some(({ address }) => address !== 'all')
      await pause.wait(isUrgent ? urgentMs() : Math.max(batchMs, sentAt + steadyMs - monotonicMs()))
      await send(takeBatch())
      sentAt = monotonicMs()
    }
    sending = undefined
  }

  return {
    add(message) {
      if (pendingBytes > pendingBytesMax) {
        if (message.rowId === undefined) deps.countDropped(1)
        return message.done?.(false)
      }
      pending.push(message)
      if (message.rowId !== undefined) rowIds.add(message.rowId)
      pendingBytes += message.payload.length
      sending ??= sendAll()
      if (message.address !== 'all') pause.shorten(urgentMs())
    },
    pendingRows: () => [...rowIds],
    async flush() {
      while (sending) await sending
    },
  }
}

/** A pause whose end can be brought forward. */
function createPause() {
  let timer: NodeJS.Timeout | undefined
  let endsAt = 0
  let end = () => {}
  const set = (ms: number) => {
    clearTimeout(timer)
    endsAt = monotonicMs() + ms
    timer = setTimeout(() => {
      timer = undefined
      end()
    }, ms)
  }
  return {
    wait: (ms: number) =>
      new Promise<void>((resolve) => {
        end = resolve
        // A timer takes at least a millisecond, so a pause of 0 uses setImmediate.
        if (ms > 0) set(ms)
        else setImmediate(resolve)
      }),
    shorten(ms: number) {
      if (timer && endsAt > monotonicMs() + ms) set(ms)
    },
  }
}

const rowsOf = (batch: Pending[]) => batch.flatMap(({ rowId }) => (rowId === undefined ? [] : [rowId]))
