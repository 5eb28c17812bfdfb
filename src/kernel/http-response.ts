/**
 * Reads responses of HTTP/1.1 and keeps nothing but their status: the parser of Node.js and its objects took two thirds of the processor time of
 * a webhook. A response that breaks the rules of RFC 9112 is an error, or the end of its connection.
 */

/** The response is malformed. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError'
}

export interface ResponseReader {
  /** True if a part of the response was read. */
  readonly hasBegun: boolean
  /** The status, once the head of the response is complete. */
  readonly status: number | undefined
  /** True if the whole response was read. */
  readonly isComplete: boolean
  /** True if the connection can take another request after this response. */
  readonly isReusable: boolean
  /** Number of bytes of the body so far. */
  readonly bodyBytes: number
  /** Takes the next bytes of the connection. Throws ResponseError. */
  read(chunk: Buffer): void
}

const headBytesMax = 16 * 1024
const headEnd = Buffer.from('\r\n\r\n')
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/
const chunkSize = /^([0-9a-fA-F]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/

interface State {
  hasBegun: boolean
  status: number | undefined
  isComplete: boolean
  isReusable: boolean
  bodyBytes: number
  /** Bytes of the head, of the size of a chunk, or of a trailer that is not complete. */
  pending: Buffer
  phase: 'head' | 'body' | 'size' | 'chunk end' | 'trailer' | 'until the end'
  /** Bytes that are left of the body or of a chunk. */
  left: number
}

export function createResponseReader(): ResponseReader {
  const state: State = {
    hasBegun: false,
    status: undefined,
    isComplete: false,
    isReusable: true,
    bodyBytes: 0,
    pending: empty,
    phase: 'head',
    left: 0,
  }
  return Object.assign(state, {
    read(chunk: Buffer) {
      state.hasBegun = true
      let rest: Buffer | undefined = chunk
      while (rest !== undefined && rest.length > 0 && !state.isComplete) rest = step(state, rest)
      // Bytes after the response belong to no request.
      if (rest !== undefined && rest.length > 0) state.isReusable = false
    },
  })
}

const empty = Buffer.alloc(0)
const malformed = (problem: string) => new ResponseError(`Parse Error: ${problem}`)

/** Reads one part of the response; returns the bytes after it, or undefined if more are needed. */
function step(state: State, bytes: Buffer): Buffer | undefined {
  switch (state.phase) {
    case 'head':
      return readHead(state, bytes)
    case 'until the end':
      state.bodyBytes += bytes.length
      return undefined
    case 'body':
    case 'chunk end':
      return skip(state, bytes)
    default:
      return readLine(state, bytes)
  }
}

function readHead(state: State, bytes: Buffer): Buffer | undefined {
  const all = state.pending.length === 0 ? bytes : Buffer.concat([state.pending, bytes])
  const end = all.indexOf(headEnd)
  if ((end === -1 ? all.length : end) > headBytesMax) throw malformed('Header overflow')
  if (end === -1) {
    if (!isHeadLikely(all)) throw malformed('the response is not HTTP/1.1')
    state.pending = all
    return undefined
  }
  state.pending = empty
  startBody(state, all.toString('latin1', 0, end))
  return all.subarray(end + headEnd.length)
}

const isHeadLikely = (bytes: Buffer) => 'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))

interface Headers {
  length: number | undefined
  codings: string[]
  isClosing: boolean
  isKept: boolean
}

function startBody(state: State, head: string) {
  const lines = head.split('\r\n')
  const [, minor, statusText] = statusLine.exec(lines[0]!) ?? []
  if (statusText === undefined) throw malformed('the status line is wrong')
  const status = Number(statusText)
  const { length, codings, isClosing, isKept } = headersOf(lines)
  // Responses such as 100 Continue come before the real one.
  if (status < 200 && status !== 101) return
  state.status = status
  if (isClosing || (minor === '0' && !isKept) || status === 101) state.isReusable = false
  // A response with both headers may be an attack on a reader that obeys the other header.
  if (codings.length > 0 && (length !== undefined || minor === '0')) state.isReusable = false
  const hasBody = status !== 204 && status !== 304 && status !== 101
  if (!hasBody) state.isComplete = true
  else if (codings.at(-1) === 'chunked') state.phase = 'size'
  else if (codings.length > 0 || length === undefined) {
    state.phase = 'until the end'
    state.isReusable = false
  } else {
    state.phase = 'body'
    state.left = length
    state.isComplete = length === 0
  }
}

function headersOf(lines: string[]): Headers {
  const headers: Headers = { length: undefined, codings: [], isClosing: false, isKept: false }
  for (let index = 1; index < lines.length; index++) {
    const [, name, value] = headerLine.exec(lines[index]!) ?? []
    if (name === undefined || value === undefined) throw malformed('a header is wrong')
    switch (name.toLowerCase()) {
      case 'content-length':
        if (!/^\d{1,15}$/.test(value) || (headers.length !== undefined && headers.length !== Number(value)))
          throw malformed('Content-Length is wrong')
        headers.length = Number(value)
        break
      case 'transfer-encoding':
        headers.codings.push(...listOf(value))
        break
      case 'connection':
        if (listOf(value).includes('close')) headers.isClosing = true
        if (listOf(value).includes('keep-alive')) headers.isKept = true
        break
    }
  }
  return headers
}

const listOf = (value: string) => value.split(',').map((item) => item.trim().toLowerCase())

/** Skips bytes of the body or of a chunk. */
function skip(state: State, bytes: Buffer): Buffer | undefined {
  const taken = Math.min(state.left, bytes.length)
  state.left -= taken
  state.bodyBytes += taken
  if (state.left > 0) return undefined
  if (state.phase === 'body') state.isComplete = true
  else state.phase = 'size'
  return bytes.subarray(taken)
}

const lineBytesMax = 1024

/** Reads the size of a chunk, or a line after the last chunk. */
function readLine(state: State, bytes: Buffer): Buffer | undefined {
  const all = state.pending.length === 0 ? bytes : Buffer.concat([state.pending, bytes])
  const end = all.indexOf('\r\n')
  if ((end === -1 ? all.length : end) > lineBytesMax) throw malformed('a line of the body is too long')
  state.pending = end === -1 ? all : empty
  if (end === -1) return undefined
  const line = all.toString('latin1', 0, end)
  state.bodyBytes += line.length
  if (state.phase === 'trailer') state.isComplete = line === ''
  else {
    const [, size] = chunkSize.exec(line) ?? []
    if (size === undefined) throw malformed('the size of a chunk is wrong')
    const length = Number.parseInt(size, 16)
    // The line break after a chunk is skipped with it.
    state.left = length + 2
    state.phase = length === 0 ? 'trailer' : 'chunk end'
  }
  return all.subarray(end + 2)
}
