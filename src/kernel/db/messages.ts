/** Encodes messages of PostgreSQL's protocol, and sends all messages of one turn of the event loop in one write. */
import type { Socket } from 'node:net'
import type { Encoded } from './values.ts'

/** An outgoing stream of messages. Everything on the socket must go through it. */
export interface Messages {
  parse(name: string, text: string, oids: readonly number[] | undefined): void
  bind(name: string, values: readonly Encoded[]): void
  describePortal(): void
  execute(): void
  closeStatement(name: string): void
  sync(): void
  query(text: string): void
  /** Writes the collected messages; called automatically at the end of the turn. */
  flush(): void
}

const chunkBytes = 64 * 1024
/** For shorter texts it is cheaper to reserve too much room than to compute their length. */
const longText = 4096

const code = { parse: 0x50, bind: 0x42, describe: 0x44, execute: 0x45, close: 0x43, sync: 0x53, query: 0x51 }
/** Describe and execute the unnamed portal, the latter without a limit of rows. */
const describeMessage = Buffer.from([code.describe, 0, 0, 0, 6, 0x50, 0])
const executeMessage = Buffer.from([code.execute, 0, 0, 0, 9, 0, 0, 0, 0, 0])
const syncMessage = Buffer.from([code.sync, 0, 0, 0, 4])

/** `streamOf` is a function, because `pg` replaces its stream when the connection becomes encrypted. */
export function createMessages(streamOf: () => Socket): Messages {
  let chunk = Buffer.allocUnsafe(chunkBytes)
  /** Bytes before `start` are never changed again, because the stream may still be sending them. */
  let start = 0
  let end = 0
  let scheduled = false

  function ensure(bytes: number) {
    if (chunk.length - end >= bytes) return
    const bigger = Buffer.allocUnsafe(end - start + bytes + chunkBytes)
    chunk.copy(bigger, 0, start, end)
    end -= start
    start = 0
    chunk = bigger
  }
  function int16(value: number) {
    ensure(2)
    chunk[end++] = value >>> 8
    chunk[end++] = value
  }
  function int32(value: number) {
    ensure(4)
    chunk[end++] = value >>> 24
    chunk[end++] = value >>> 16
    chunk[end++] = value >>> 8
    chunk[end++] = value
  }
  function text(value: string) {
    ensure((value.length > longText ? Buffer.byteLength(value) : value.length * 3) + 1)
    end += chunk.write(value, end, 'utf8')
  }
  function cstring(value: string) {
    text(value)
    chunk[end++] = 0
  }
  function bytes(value: Buffer) {
    ensure(value.length)
    value.copy(chunk, end)
    end += value.length
  }
  /** Reserves room for a length that is not known yet. Offsets count from `start`, because the chunk may be replaced. */
  function openLength(): number {
    ensure(4)
    end += 4
    return end - start
  }
  function closeLength(from: number, own: number) {
    chunk.writeInt32BE(end - start - from + own, start + from - 4)
  }
  function open(kind: number): number {
    if (!scheduled) {
      scheduled = true
      process.nextTick(flush)
    }
    ensure(1)
    chunk[end++] = kind
    return openLength()
  }
  /** The length of a message includes its own four bytes. */
  const close = (from: number) => closeLength(from, 4)

  function flush() {
    scheduled = false
    if (end === start) return
    const stream = streamOf()
    const joined = chunk.subarray(start, end)
    start = end
    if (stream.writable) stream.write(joined)
  }

  return {
    parse(name, sql, oids) {
      const from = open(code.parse)
      cstring(name)
      cstring(sql)
      int16(oids?.length ?? 0)
      if (oids) for (const oid of oids) int32(oid)
      close(from)
    },
    bind(name, values) {
      const from = open(code.bind)
      ensure(1)
      chunk[end++] = 0
      cstring(name)
      int16(values.length)
      for (const value of values) int16(value instanceof Buffer ? 1 : 0)
      int16(values.length)
      for (const value of values) {
        if (value === null) int32(-1)
        else if (typeof value === 'string') {
          const at = openLength()
          text(value)
          closeLength(at, 0)
        } else {
          int32(value.length)
          bytes(value)
        }
      }
      int16(0)
      close(from)
    },
    describePortal: () => bytes(describeMessage),
    execute: () => bytes(executeMessage),
    closeStatement(name) {
      const from = open(code.close)
      ensure(1)
      chunk[end++] = 0x53
      cstring(name)
      close(from)
    },
    sync: () => bytes(syncMessage),
    query(sql) {
      const from = open(code.query)
      cstring(sql)
      close(from)
    },
    flush,
  }
}
