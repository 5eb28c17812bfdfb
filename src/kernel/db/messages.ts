/** Encodes messages of PostgreSQL's protocol, and sends all messages that one turn of the event loop produces in one write. */
import type { Socket } from 'node:net'
import type { Encoded } from './values.ts'

/** An outgoing stream of protocol messages. All data for the socket must go through it. */
export interface Messages {
  parse(name: string, text: string, oids: readonly number[] | undefined): void
  bind(name: string, values: readonly Encoded[]): void
  describePortal(): void
  execute(): void
  closeStatement(name: string): void
  sync(): void
  query(text: string): void
  /** Sends the rows of a COPY, and its end. The buffer must not change until the server has answered. */
  copyData(content: Buffer): void
  /** Writes the collected messages; called automatically at the end of the turn. */
  flush(): void
}

const chunkBytes = 64 * 1024
/** Length up to which reserving too much room for a text is cheaper than computing its length in bytes. */
const longText = 4096

/** From this size, rows of a COPY are sent from their own buffer instead of being copied. */
const longContent = 16 * 1024

const code = {
  parse: 0x50,
  bind: 0x42,
  describe: 0x44,
  execute: 0x45,
  close: 0x43,
  sync: 0x53,
  query: 0x51,
  copyData: 0x64,
}
/** These two messages describe the unnamed portal, and execute it without a limit of rows. */
const describeMessage = Buffer.from([code.describe, 0, 0, 0, 6, 0x50, 0])
const executeMessage = Buffer.from([code.execute, 0, 0, 0, 9, 0, 0, 0, 0, 0])
const copyDoneMessage = Buffer.from([0x63, 0, 0, 0, 4])
const syncMessage = Buffer.from([code.sync, 0, 0, 0, 4])

/** The messages that are collected for the next write. */
interface Output {
  chunk: Buffer
  /** Bytes before `start` are never changed again, because the stream may still be sending them. */
  start: number
  end: number
  scheduled: boolean
  flush(): void
  /** Returns whether the stream has sent everything that it was given. */
  isSent(): boolean
}

/** `streamOf` is a function, because `pg` replaces its stream when the connection becomes encrypted. */
export function createMessages(streamOf: () => Socket): Messages {
  const output: Output = {
    chunk: Buffer.allocUnsafe(chunkBytes),
    start: 0,
    end: 0,
    scheduled: false,
    flush,
    isSent: () => streamOf().writableLength === 0,
  }

  function flush() {
    output.scheduled = false
    if (output.end === output.start) return
    const stream = streamOf()
    const collected = output.chunk.subarray(output.start, output.end)
    output.start = output.end
    if (stream.writable) stream.write(collected)
  }

  return {
    parse: (name, sql, oids) => writeParse(output, name, sql, oids),
    bind: (name, values) => writeBind(output, name, values),
    describePortal: () => writeBytes(output, describeMessage),
    execute: () => writeBytes(output, executeMessage),
    closeStatement(name) {
      const from = beginMessage(output, code.close)
      writeByte(output, 0x53)
      writeCString(output, name)
      endMessage(output, from)
    },
    sync: () => writeBytes(output, syncMessage),
    query(sql) {
      const from = beginMessage(output, code.query)
      writeCString(output, sql)
      endMessage(output, from)
    },
    copyData(content) {
      beginMessage(output, code.copyData)
      writeLength(output, output.end - output.start, content.length + 4)
      if (content.length < longContent) writeBytes(output, content)
      else {
        output.flush()
        const stream = streamOf()
        if (stream.writable) stream.write(content)
      }
      writeBytes(output, copyDoneMessage)
      schedule(output)
    },
    flush,
  }
}

function writeParse(output: Output, name: string, sql: string, oids: readonly number[] | undefined) {
  const from = beginMessage(output, code.parse)
  writeCString(output, name)
  writeCString(output, sql)
  writeInt16(output, oids?.length ?? 0)
  if (oids) for (const oid of oids) writeInt32(output, oid)
  endMessage(output, from)
}

function writeBind(output: Output, name: string, values: readonly Encoded[]) {
  const from = beginMessage(output, code.bind)
  writeByte(output, 0)
  writeCString(output, name)
  writeInt16(output, values.length)
  for (const value of values) writeInt16(output, value instanceof Buffer ? 1 : 0)
  writeInt16(output, values.length)
  for (const value of values) {
    if (value === null) writeInt32(output, -1)
    else if (typeof value === 'string') {
      const lengthOffset = reserveLength(output)
      writeText(output, value)
      writeLength(output, lengthOffset, 0)
    } else {
      writeInt32(output, value.length)
      writeBytes(output, value)
    }
  }
  writeInt16(output, 0)
  endMessage(output, from)
}

function ensureRoom(output: Output, bytes: number) {
  const { chunk, start, end } = output
  if (chunk.length - end >= bytes) return
  if (start === end && bytes <= chunk.length && output.isSent()) {
    output.start = 0
    output.end = 0
    return
  }
  const bigger = Buffer.allocUnsafe(end - start + bytes + chunkBytes)
  chunk.copy(bigger, 0, start, end)
  output.end = end - start
  output.start = 0
  output.chunk = bigger
}

function writeByte(output: Output, value: number) {
  ensureRoom(output, 1)
  output.chunk[output.end++] = value
}

function writeInt16(output: Output, value: number) {
  ensureRoom(output, 2)
  const { chunk, end } = output
  chunk[end] = value >>> 8
  chunk[end + 1] = value
  output.end = end + 2
}

function writeInt32(output: Output, value: number) {
  ensureRoom(output, 4)
  const { chunk, end } = output
  chunk[end] = value >>> 24
  chunk[end + 1] = value >>> 16
  chunk[end + 2] = value >>> 8
  chunk[end + 3] = value
  output.end = end + 4
}

function writeText(output: Output, value: string) {
  ensureRoom(output, (value.length > longText ? Buffer.byteLength(value) : value.length * 3) + 1)
  output.end += output.chunk.write(value, output.end, 'utf8')
}

/** Writes a zero-terminated text. `writeText` has already reserved the room for the zero. */
function writeCString(output: Output, value: string) {
  writeText(output, value)
  output.chunk[output.end++] = 0
}

function writeBytes(output: Output, value: Buffer) {
  ensureRoom(output, value.length)
  value.copy(output.chunk, output.end)
  output.end += value.length
}

/** Reserves room for a length that is not known yet. The returned offset counts from `start`, because the chunk may be replaced. */
function reserveLength(output: Output): number {
  ensureRoom(output, 4)
  output.end += 4
  return output.end - output.start
}

function writeLength({ chunk, start, end }: Output, from: number, ownBytes: number) {
  chunk.writeInt32BE(end - start - from + ownBytes, start + from - 4)
}

function schedule(output: Output) {
  if (output.scheduled) return
  output.scheduled = true
  process.nextTick(output.flush)
}

/** Starts a message, and schedules one write for all messages of this turn of the event loop. */
function beginMessage(output: Output, kind: number): number {
  schedule(output)
  writeByte(output, kind)
  return reserveLength(output)
}

/** Ends a message. Its length includes the four bytes of the length itself. */
const endMessage = (output: Output, from: number) => writeLength(output, from, 4)
