/** COPY … FROM STDIN and COPY … TO STDOUT. */
import type { Link, Wire } from './link.ts'
import { type Answer, constructorOf, fail, methods, type QueryState, succeed } from './query.ts'
import type { CopyContent } from './sql.ts'

interface CopyInQuery extends QueryState<void> {
  text: string
  content: () => CopyContent | Promise<CopyContent>
  /** Why the content could not be read; the server's own error says only that the copy failed. */
  problem: unknown
}

const copyDataCode = 0x64

function sendChunk({ stream }: Wire, chunk: Buffer): boolean {
  const head = Buffer.allocUnsafe(5)
  head[0] = copyDataCode
  head.writeUInt32BE(chunk.length + 4, 1)
  stream.cork()
  stream.write(head)
  const goesOn = stream.write(chunk)
  stream.uncork()
  return goesOn
}

const drained = ({ stream }: Wire) =>
  new Promise<void>((done) => {
    const over = () => {
      stream.off('drain', over).off('close', over)
      done()
    }
    stream.on('drain', over).on('close', over)
  })

async function sendContent(query: CopyInQuery, wire: Wire) {
  try {
    const content = await query.content()
    if (query.settled) return
    if (Buffer.isBuffer(content)) sendChunk(wire, content)
    else
      for await (const chunk of content) {
        if (query.settled) return
        if (!sendChunk(wire, chunk)) await drained(wire)
      }
    if (!query.settled) wire.endCopyFrom()
  } catch (error) {
    query.problem = error
    if (!query.settled) wire.sendCopyFail('the rows could not be read')
  }
}

const copyInMethods = {
  ...methods,
  submit(this: CopyInQuery) {
    this.link.copying = true
    this.link.messages.query(this.text)
    return null
  },
  handleCopyInResponse(this: CopyInQuery, wire: Wire) {
    void sendContent(this, wire)
  },
  handleReadyForQuery(this: CopyInQuery) {
    if (this.settled) return
    this.link.copied()
    succeed(this, undefined)
  },
  handleError(this: CopyInQuery, error: Error) {
    if (this.settled) return
    this.link.copied()
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
  this.problem = undefined
}, copyInMethods)

/** Resolves when the server has all rows of `copy … from stdin`, which is the last statement of the text. */
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

/** The rows come one by one, and the memory that they lie in is used again: they are joined to blocks. */
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
  ...methods,
  submit(this: CopyOutQuery) {
    this.link.messages.query(this.text)
    return null
  },
  handleCopyData(this: CopyOutQuery, { chunk }: { chunk: Buffer }) {
    append(this, chunk)
  },
  handleReadyForQuery(this: CopyOutQuery) {
    if (this.settled) return
    flush(this)
    succeed(this, undefined)
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

/** Blocks that wait for a slow reader before the server is told to wait as well. */
const blocksMax = 8

/** The text of `copy … to stdout`, block by block. A reader that leaves early reads the rest first: the connection stays usable. */
export async function* runCopyOut(link: Link, text: string): AsyncGenerator<Buffer> {
  const blocks: Buffer[] = []
  let over = false
  let left = false
  let wake = () => {}
  const push = (block: Buffer) => {
    if (left) return
    blocks.push(block)
    if (blocks.length >= blocksMax) link.pause()
    wake()
  }
  const done = new Promise<void>((resolve, reject) =>
    link.send(new CopyOutQueryOf(link, { resolve, reject }, text, push)),
  ).finally(() => {
    over = true
    wake()
  })
  done.catch(() => {})
  try {
    for (;;) {
      const block = blocks.shift()
      if (block) yield block
      else if (over) break
      else {
        link.resume()
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    left = true
    link.resume()
    await done
  }
}
