/** Runs COPY … FROM STDIN and COPY … TO STDOUT. */
import type { Link, Wire } from './link.ts'
import { type Answer, baseMethods, constructorOf, fail, type QueryState, succeed } from './query.ts'
import type { CopyContent } from './sql.ts'

interface CopyInQuery extends QueryState<void> {
  text: string
  content: () => CopyContent | Promise<CopyContent>
  /** True when the last message of the copy was sent, so that the connection can send the next statement. */
  hasSentAll: boolean
  /** Content that is sent only when the server requests it. A Buffer is sent immediately instead. */
  started: Exclude<CopyContent, Buffer> | Promise<CopyContent> | undefined
  /** The error that was thrown while the content was read. The server's own error says only that the copy failed. */
  problem: unknown
}

const copyDataCode = 0x64

function sendChunk({ stream }: Wire, chunk: Buffer): boolean {
  const head = Buffer.allocUnsafe(5)
  head[0] = copyDataCode
  head.writeUInt32BE(chunk.length + 4, 1)
  stream.cork()
  stream.write(head)
  const hasRoom = stream.write(chunk)
  stream.uncork()
  return hasRoom
}

/** Sends the rows and the end of the copy in one write. */
function sendAll(wire: Wire, content: Buffer) {
  wire.stream.cork()
  sendChunk(wire, content)
  wire.endCopyFrom()
  wire.stream.uncork()
}

const waitForDrain = ({ stream }: Wire) =>
  new Promise<void>((done) => {
    const finish = () => {
      stream.off('drain', finish).off('close', finish)
      done()
    }
    stream.on('drain', finish).on('close', finish)
  })

/**
 * Lets the next statement be sent without waiting for the answer to the copy. If the copy has failed, the server skips its data and the
 * transaction fails.
 */
function endSending(query: CopyInQuery) {
  if (query.hasSentAll) return
  query.hasSentAll = true
  query.link.endCopy()
}

async function sendContent(query: CopyInQuery, wire: Wire) {
  try {
    if (query.started === undefined) throw query.problem
    const content = await query.started
    if (query.settled) return
    if (Buffer.isBuffer(content)) {
      sendAll(wire, content)
      return endSending(query)
    }
    for await (const chunk of content) {
      if (query.settled) return
      if (!sendChunk(wire, chunk)) await waitForDrain(wire)
    }
    if (query.settled) return
    wire.endCopyFrom()
    endSending(query)
  } catch (error) {
    query.problem = error
    if (!query.settled) wire.sendCopyFail('reading the rows failed')
  }
}

const copyInMethods = {
  ...baseMethods,
  submit(this: CopyInQuery) {
    const { messages } = this.link
    messages.query(this.text)
    let content: ReturnType<CopyInQuery['content']> | undefined
    try {
      content = this.content()
    } catch (error) {
      this.problem = error
    }
    if (Buffer.isBuffer(content)) {
      // The rows are sent directly after the statement. If the statement fails, the server ignores them.
      messages.copyData(content)
      this.hasSentAll = true
    } else {
      this.link.copying = true
      this.started = content
      // If the server requests the rows, `sendContent` reports this failure.
      if (content instanceof Promise) content.catch(() => {})
    }
    return null
  },
  handleCopyInResponse(this: CopyInQuery, wire: Wire) {
    if (!this.hasSentAll) void sendContent(this, wire)
  },
  handleReadyForQuery(this: CopyInQuery) {
    if (this.settled) return
    endSending(this)
    succeed(this, undefined)
  },
  handleError(this: CopyInQuery, error: Error) {
    if (this.settled) return
    endSending(this)
    fail(this as never, error, this.problem)
  },
}

const CopyInQueryOf = constructorOf(function (
  this: CopyInQuery,
  link: Link,
  answer: Answer<void>,
  text: string,
  content: CopyInQuery['content'],
) {
  this.link = link
  this.answer = answer
  this.settled = false
  this.text = text
  this.content = content
  this.hasSentAll = false
  this.started = undefined
  this.problem = undefined
}, copyInMethods)

/** Runs a text whose last statement is `copy … from stdin`; resolves when the server has all rows. */
export const runCopyIn = (link: Link, text: string, content: CopyInQuery['content']): Promise<void> =>
  new Promise((resolve, reject) => {
    link.send(new CopyInQueryOf(link, { resolve, reject }, text, content))
  })

interface CopyOutQuery extends QueryState<void> {
  text: string
  block: Buffer
  filled: number
  push(block: Buffer): void
}

const blockBytes = 64 * 1024

/** Joins rows into blocks, because `pg` delivers them one by one in memory that it reuses. */
function append(query: CopyOutQuery, row: Buffer) {
  if (query.filled + row.length > query.block.length) {
    flush(query)
    if (row.length > blockBytes) {
      query.push(Buffer.from(row))
      return
    }
  }
  row.copy(query.block, query.filled)
  query.filled += row.length
}

function flush(query: CopyOutQuery) {
  if (query.filled === 0) return
  query.push(query.block.subarray(0, query.filled))
  query.block = Buffer.allocUnsafe(blockBytes)
  query.filled = 0
}

const copyOutMethods = {
  ...baseMethods,
  submit(this: CopyOutQuery) {
    if (this.link.inFlight === 1)
      this.link.largeRows().start((row) => {
        flush(this)
        this.push(row)
      })
    this.link.messages.query(this.text)
    return null
  },
  handleCopyData(this: CopyOutQuery, { chunk }: { chunk: Buffer }) {
    append(this, chunk)
  },
  handleReadyForQuery(this: CopyOutQuery) {
    if (this.settled) return
    this.link.largeRows().stop()
    flush(this)
    succeed(this, undefined)
  },
  handleError(this: CopyOutQuery, error: Error) {
    this.link.largeRows().stop()
    fail(this as never, error)
  },
}

const CopyOutQueryOf = constructorOf(function (
  this: CopyOutQuery,
  link: Link,
  answer: Answer<void>,
  text: string,
  push: (block: Buffer) => void,
) {
  this.link = link
  this.answer = answer
  this.settled = false
  this.text = text
  this.block = Buffer.allocUnsafe(blockBytes)
  this.filled = 0
  this.push = push
}, copyOutMethods)

/** Maximum number of blocks that wait for a slow reader. While that many blocks wait, the connection is not read. */
const blocksMax = 8

/**
 * Yields the output of `copy … to stdout` in blocks. If the reader stops early, the rest is discarded, so that the connection stays usable.
 */
export async function* runCopyOut(link: Link, text: string): AsyncGenerator<Buffer> {
  const blocks: Buffer[] = []
  let ended = false
  let abandoned = false
  let wake = () => {}
  const push = (block: Buffer) => {
    if (abandoned) return
    blocks.push(block)
    if (blocks.length >= blocksMax) link.pause()
    wake()
  }
  const done = new Promise<void>((resolve, reject) =>
    link.send(new CopyOutQueryOf(link, { resolve, reject }, text, push)),
  ).finally(() => {
    ended = true
    wake()
  })
  done.catch(() => {})
  try {
    for (;;) {
      const block = blocks.shift()
      if (block) yield block
      else if (ended) break
      else {
        link.resume()
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    abandoned = true
    link.resume()
    await done
  }
}
