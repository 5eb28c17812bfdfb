/**
 * Stores contents in an S3-compatible store, addressed by path (`/bucket/folder/ab/cd/<key>`). A content that fits into one
 * part is sent in one request; a larger one in a multipart upload, with one part in memory at a time.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { type Clock, sleep } from '../clock.ts'
import { type Blobs, blobKeyPattern, pathOfKey, type S3Settings } from './blobs.ts'
import { encoded, hashOf, queryOf, sign } from './signature.ts'

/** S3 requires parts of at least 5 MiB, except for the last one. */
const partBytes = 5 * 1024 * 1024
const partsMax = 10_000
const attemptsMax = 4
const timeoutMs = 60_000

interface S3Request {
  method: string
  /** Path within the bucket; empty for the bucket itself. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array[]
}

export class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly status: number

  constructor(status: number, request: S3Request, text: string) {
    const code = valueIn(text, 'Code') ?? text.slice(0, 200)
    super(`The S3 store answered ${status} to ${request.method} ${request.path || 'the bucket'}: ${code}`)
    this.status = status
  }
}

/** Parts grow by 5 MiB every thousand, so that 10,000 parts hold 275 GB instead of 50 GB. */
export const sizeOfPart = (number: number) => partBytes * (1 + Math.floor((number - 1) / 1000))

export function createS3Blobs(settings: S3Settings, now: Clock): Blobs {
  const { origin, bucket, folder } = settings
  const { protocol, host, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  // Created for the first request: a platform without uploads opens no sockets.
  let agent: HttpAgent | undefined
  const prefix = folder === '' ? '' : `${folder}/`
  const pathOf = (key: string) => prefix + pathOfKey(key)

  function send({ method, path, query = {}, headers = {}, body = [] }: S3Request): Promise<IncomingMessage> {
    const fullPath = `/${[bucket, ...path.split('/')]
      .filter((step) => step !== '')
      .map(encoded)
      .join('/')}`
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const signed = sign({ method, host, path: fullPath, query, headers, bodyHash: hashOf(...body) }, settings, now())
    agent ??= secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
    const queryText = queryOf(query)
    return new Promise((resolve, reject) => {
      const outgoing = (secure ? requestHttps : requestHttp)(
        {
          hostname: hostname.replace(/^\[|\]$/g, ''),
          port,
          method,
          path: queryText === '' ? fullPath : `${fullPath}?${queryText}`,
          headers: { ...signed, 'content-length': String(length) },
          agent: agent!,
          timeout: timeoutMs,
        },
        (response) => {
          // From here on a slow reader may cause the pause.
          outgoing.setTimeout(0)
          resolve(response)
        },
      )
      outgoing.on('error', reject)
      outgoing.on('timeout', () => outgoing.destroy(new Error(`The S3 store did not answer for ${timeoutMs / 1000} s`)))
      for (const piece of body) outgoing.write(piece)
      outgoing.end()
    })
  }

  /** Returns the response with its body unread. Temporary failures are retried, since all requests are idempotent. */
  async function sendWithRetries(request: S3Request, accepted: number[]): Promise<IncomingMessage> {
    for (let number = 1; ; number++) {
      let problem: Error
      try {
        const response = await send(request)
        if (accepted.includes(response.statusCode!)) return response
        problem = new S3Error(response.statusCode!, request, (await buffer(response)).toString('utf8'))
        if (response.statusCode! < 500 && response.statusCode !== 429) throw problem
      } catch (error) {
        if (error instanceof S3Error && error.status < 500 && error.status !== 429) throw error
        problem = error as Error
      }
      if (number === attemptsMax) throw problem
      await sleep(100 * 4 ** (number - 1))
    }
  }

  const textOf = async (request: S3Request, accepted: number[]) =>
    (await buffer(await sendWithRetries(request, accepted))).toString('utf8')

  async function writeParts(path: string, parts: AsyncIterator<Uint8Array[]>, first: Uint8Array[]) {
    const made = await textOf({ method: 'POST', path, query: { uploads: '' } }, [200])
    const uploadId = valueIn(made, 'UploadId')
    if (uploadId === undefined) throw new Error('The S3 store started an upload without an UploadId')
    const tags: string[] = []
    let body: Uint8Array[] | undefined = first
    while (body) {
      if (tags.length === partsMax) throw new Error(`An upload to the S3 store has at most ${partsMax} parts`)
      const query = { partNumber: String(tags.length + 1), uploadId }
      const response = await sendWithRetries({ method: 'PUT', path, query, body }, [200])
      response.resume()
      tags.push(response.headers.etag ?? '')
      body = (await parts.next()).value
    }
    const list = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const text = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`
    const done = await textOf({ method: 'POST', path, query: { uploadId }, body: [Buffer.from(text)] }, [200])
    // S3 may answer 200 and report the failure in the body.
    if (done.includes('<Error>')) throw new S3Error(500, { method: 'POST', path }, done)
  }

  /** Aborts interrupted multipart uploads, whose parts occupy paid storage. */
  async function abortUploads(path: string) {
    const found = await textOf({ method: 'GET', path: '', query: { uploads: '', prefix: path } }, [200, 404, 501])
    for (const upload of found.split('<Upload>').slice(1)) {
      const uploadId = valueIn(upload, 'UploadId')
      if (uploadId === undefined || valueIn(upload, 'Key') !== path) continue
      await textOf({ method: 'DELETE', path, query: { uploadId } }, [200, 204, 404])
    }
  }

  return {
    async write(key, content) {
      const path = pathOf(key)
      const parts = inParts(content)
      try {
        const first = await parts.next()
        const whole = first.done ? [] : first.value
        const isAll = first.done || lengthOf(whole) < sizeOfPart(1)
        if (isAll) await textOf({ method: 'PUT', path, body: whole }, [200])
        else await writeParts(path, parts, whole)
      } finally {
        // Ends the sender's iteration too, also after a failure.
        await parts.return(undefined)
      }
    },

    async read(key, range) {
      const headers = range ? { range: `bytes=${range.first}-${range.last}` } : {}
      const response = await sendWithRetries({ method: 'GET', path: pathOf(key), headers }, [200, 206, 404])
      if (response.statusCode !== 404) return response
      response.resume()
      return undefined
    },

    async remove(key) {
      const path = pathOf(key)
      await abortUploads(path)
      await textOf({ method: 'DELETE', path }, [200, 204, 404])
    },

    async *keys() {
      let token: string | undefined
      do {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const page = await textOf({ method: 'GET', path: '', query }, [200])
        for (const item of page.split('<Contents>').slice(1)) {
          const path = valueIn(item, 'Key') ?? ''
          const key = path.split('/').at(-1)!
          // Skip objects that Waypost did not write.
          if (!blobKeyPattern.test(key) || path !== pathOf(key)) continue
          yield { key, changedAt: new Date(valueIn(item, 'LastModified') ?? 0) }
        }
        token = valueIn(
          page.split('<Contents>')[0]! + page.slice(page.lastIndexOf('</Contents>')),
          'NextContinuationToken',
        )
      } while (token !== undefined)
    },
  }
}

const lengthOf = (pieces: Uint8Array[]) => pieces.reduce((sum, piece) => sum + piece.length, 0)

/** Groups pieces into parts; only the last part may be smaller than its size. */
async function* inParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[], undefined> {
  let [part, bytes, number] = [[] as Uint8Array[], 0, 1]
  for await (const piece of content) {
    part.push(piece)
    bytes += piece.length
    if (bytes < sizeOfPart(number)) continue
    yield part
    part = []
    bytes = 0
    number++
  }
  if (bytes > 0) yield part
}

/** Reads one element. The responses that we read are flat and have no attributes; an ETag or a token may be escaped. */
function valueIn(xml: string, name: string): string | undefined {
  const value = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return value?.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
