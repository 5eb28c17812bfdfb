/**
 * Receives large rows of COPY … TO STDOUT, each directly into one buffer. `pg` grows its buffer step by step while a large message arrives.
 * For a row of 2.4 MB it allocates 8 MB, and memory outside of the heap causes full garbage collections.
 */
import type { Socket } from 'node:net'

export interface LargeRows {
  /**
   * From now on, passes large rows to `onRow` instead of to `pg`. No other query may be in flight, because the next byte that arrives must
   * be the first byte of a message.
   */
  start(onRow: (row: Buffer) => void): void
  stop(): void
}

const copyDataCode = 0x64
/** Bytes before the content of a message: its code and its length. */
const headBytes = 5
/** The length of a message includes its own four bytes. */
const lengthBytes = 4
const largeMin = 64 * 1024

/** Takes over the data of a connection from `pg`, and passes everything on to it except large rows. */
export function createLargeRows(stream: Socket): LargeRows {
  const [parse] = stream.listeners('data') as ((chunk: Buffer) => void)[]
  if (!parse) throw new Error('pg does not read the connection')
  const head = Buffer.alloc(headBytes)
  let onRow: ((row: Buffer) => void) | undefined
  /** Bytes of `head` that are filled. */
  let headFilled = 0
  /** Bytes of the current message that have not arrived yet, if it is for `pg`. */
  let remaining = 0
  let row: Buffer | undefined
  let rowFilled = 0

  /** Adds the next bytes of the row and returns the position after them. */
  function fillRow(target: Buffer, chunk: Buffer, offset: number): number {
    const copied = chunk.copy(target, rowFilled, offset)
    rowFilled += copied
    if (rowFilled === target.length) {
      row = undefined
      onRow?.(target)
    }
    return offset + copied
  }

  function split(chunk: Buffer) {
    let [offset, unparsed] = [0, 0]
    const parseUntil = (end: number) => {
      if (unparsed < end) parse!(chunk.subarray(unparsed, end))
    }
    while (offset < chunk.length) {
      if (row) {
        offset = fillRow(row, chunk, offset)
        unparsed = offset
        continue
      }
      if (remaining > 0) {
        const skipped = Math.min(remaining, chunk.length - offset)
        remaining -= skipped
        offset += skipped
        continue
      }
      const [headStart, filledBefore] = [offset, headFilled]
      const copied = chunk.copy(head, headFilled, offset, offset + headBytes - headFilled)
      headFilled += copied
      offset += copied
      if (headFilled < headBytes) return parseUntil(headStart)
      headFilled = 0
      const bytes = head.readUInt32BE(1) - lengthBytes
      if (onRow && head[0] === copyDataCode && bytes >= largeMin) {
        parseUntil(headStart)
        row = Buffer.allocUnsafeSlow(bytes)
        rowFilled = 0
        unparsed = offset
      } else {
        if (filledBefore > 0) parse!(Buffer.from(head.subarray(0, filledBefore)))
        remaining = bytes
      }
    }
    parseUntil(chunk.length)
  }

  stream.off('data', parse)
  stream.on('data', (chunk: Buffer) => (onRow || headFilled > 0 ? split(chunk) : parse(chunk)))
  return {
    start(receive) {
      onRow = receive
      headFilled = 0
      remaining = 0
      row = undefined
    },
    stop() {
      onRow = undefined
    },
  }
}
