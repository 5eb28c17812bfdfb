/** Compresses responses of APIs with Brotli or gzip, if the client accepts it (ADR 32). */
import { pipeline, Readable } from 'node:stream'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

type Encoding = 'br' | 'gzip'
type Done = (error: Error | null, payload?: unknown) => void

export interface Compression {
  /**
   * Hook for `onSend` of routes. It uses a callback, because most responses are small, and the cost of a promise for each response would be
   * measurable.
   */
  onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void
}

/** Minimum size of a response that is compressed. A smaller response fits into one packet anyway. */
const bytesMin = 1024
/**
 * Maximum number of responses that are compressed at the same time. Each compression takes up to half a megabyte. Further responses are
 * sent uncompressed.
 */
const parallelMax = { whole: 16, streamed: 32 }

/** These levels cost little processor time: compressing 25 KB to 24 % of its size takes 0.6 ms. */
const gzipOptions = { level: 3 }
const brotliOptions = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_LGWIN]: 18 },
}
type Compressed = (error: Error | null, bytes: Buffer) => void
const whole = {
  br: (bytes: Buffer, done: Compressed) => brotliCompress(bytes, brotliOptions, done),
  gzip: (bytes: Buffer, done: Compressed) => gzip(bytes, gzipOptions, done),
}
const streamed = { br: () => createBrotliCompress(brotliOptions), gzip: () => createGzip(gzipOptions) }

/**
 * Matches the types of texts that are compressed. Event streams are excluded, because each event must arrive immediately. Files are sent as
 * they are.
 */
const compressible =
  /^(?:application\/(?:[\w.+-]*json|[\w.+-]*xml|javascript)|text\/(?!event-stream)[\w.-]+|image\/svg\+xml)\b/

export function createCompression(): Compression {
  const running = { whole: 0, streamed: 0 }

  function compressWhole(reply: FastifyReply, payload: string | Buffer, encoding: Encoding, done: Done) {
    running.whole++
    whole[encoding](typeof payload === 'string' ? Buffer.from(payload) : payload, (error, bytes) => {
      running.whole--
      if (!error) mark(reply, encoding)
      done(error, bytes)
    })
  }

  function compressStream(reply: FastifyReply, payload: Readable, encoding: Encoding) {
    running.streamed++
    mark(reply, encoding)
    // An error of the source ends both streams, and so does a client that disconnects.
    return pipeline(payload, streamed[encoding](), () => {
      running.streamed--
    })
  }

  return {
    onSend(request, reply, payload, done) {
      const isStream = payload instanceof Readable
      if (!isStream && !(isBody(payload) && payload.length >= bytesMin)) return done(null, payload)
      if (!mayBeCompressed(reply)) return done(null, payload)
      addVary(reply)
      const encoding = encodingFor(request.headers['accept-encoding'])
      // The body of an internal call is not compressed, because the calling script reads it as text.
      if (encoding === undefined || request.internalCaller) return done(null, payload)
      // A stream keeps Fastify from setting Content-Length, which would differ from the length of the compressed response to GET (RFC 9110,
      // 8.6).
      if (request.method === 'HEAD') return done(null, isStream ? payload : Readable.from([]))
      if (isStream && running.streamed < parallelMax.streamed) done(null, compressStream(reply, payload, encoding))
      else if (!isStream && running.whole < parallelMax.whole) compressWhole(reply, payload, encoding, done)
      else done(null, payload)
    },
  }
}

const isBody = (payload: unknown): payload is string | Buffer => typeof payload === 'string' || Buffer.isBuffer(payload)

const mayBeCompressed = (reply: FastifyReply) =>
  reply.statusCode >= 200 &&
  reply.statusCode !== 206 &&
  !reply.hasHeader('content-encoding') &&
  compressible.test(String(reply.getHeader('content-type') ?? ''))

/** Marks the response as compressed. The compressed bytes differ, so a strong ETag becomes a weak one. Conditional requests accept both. */
function mark(reply: FastifyReply, encoding: Encoding) {
  const etag = reply.getHeader('etag')
  if (typeof etag === 'string' && !etag.startsWith('W/')) reply.header('etag', `W/${etag}`)
  reply.header('content-encoding', encoding).removeHeader('content-length')
}

function addVary(reply: FastifyReply) {
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`)
}

/** Results for headers that were parsed before. Clients send only few different headers. */
const encodingsByHeader = new Map<string, Encoding | undefined>()
const knownMax = 100

/**
 * Returns the encoding that the client prefers (RFC 9110, 12.5.3). Without a preference it is Brotli. Returns undefined if the client
 * accepts neither.
 */
export function encodingFor(header: string | undefined): Encoding | undefined {
  if (header === undefined || header === '') return undefined
  if (encodingsByHeader.has(header)) return encodingsByHeader.get(header)
  const encoding = parse(header)
  if (encodingsByHeader.size < knownMax && header.length < 200) encodingsByHeader.set(header, encoding)
  return encoding
}

function parse(header: string): Encoding | undefined {
  const weights = new Map<string, number>()
  for (const part of header.split(',').slice(0, 20)) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const [, weight = '1'] =
      /^q=([01](?:\.\d{0,3})?)$/.exec(parameters.find((text) => text.startsWith('q=')) ?? '') ?? []
    if (name !== '') weights.set(name, Number(weight))
  }
  const weightOf = (name: Encoding) => weights.get(name) ?? weights.get('*') ?? 0
  // A client that accepts neither br nor gzip, or prefers identity, gets an uncompressed response.
  if (Math.max(weightOf('br'), weightOf('gzip')) === 0) return undefined
  const isPlainPreferred = (weights.get('identity') ?? 0) > Math.max(weightOf('br'), weightOf('gzip'))
  if (isPlainPreferred) return undefined
  return weightOf('br') >= weightOf('gzip') ? 'br' : 'gzip'
}
