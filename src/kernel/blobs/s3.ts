/**
 * Blobs in an S3-compatible store, addressed by path (`/bucket/folder/ab/cd/<key>`). What fits into one part is one request;
 * everything else goes in parts, of which one is in memory at a time.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { type Clock, sleep } from '../clock.ts'
import { type Blobs, blobKeyPattern, pathOfKey, type S3Settings } from './blobs.ts'
import { encoded, hashOf, queryOf, sign } from './signature.ts'

/** The least that a store must take as a part is 5 MiB. */
const partBytes = 5 * 1024 * 1024
const partsMax = 10_000
const attemptsMax = 4
const silenceMs = 60_000

interface Asked {
  method: string
  /** Below the bucket; empty is the bucket itself. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array[]
}

export class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly status: number

  constructor(status: number, asked: Asked, text: string) {
    const code = valueIn(text, 'Code') ?? text.slice(0, 200)
    super(`The S3 store answered ${status} to ${asked.method} ${asked.path || 'the bucket'}: ${code}`)
    this.status = status
  }
}

/** 10,000 parts of the first size would be 50 GB: every thousand they grow by as much, which makes 275 GB. */
export const sizeOfPart = (number: number) => partBytes * (1 + Math.floor((number - 1) / 1000))

export function createS3Blobs(settings: S3Settings, now: Clock): Blobs {
  const { origin, bucket, folder } = settings
  const { protocol, host, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  // Made when the first request leaves: a house without uploads opens nothing.
  let agent: HttpAgent | undefined
  const prefix = folder === '' ? '' : `${folder}/`
  const pathOf = (key: string) => prefix + pathOfKey(key)

  function attempt({ method, path, query = {}, headers = {}, body = [] }: Asked): Promise<IncomingMessage> {
    const way = `/${[bucket, ...path.split('/')]
      .filter((step) => step !== '')
      .map(encoded)
      .join('/')}`
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const signed = sign({ method, host, path: way, query, headers, bodyHash: hashOf(...body) }, settings, now())
    agent ??= secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
    const question = queryOf(query)
    return new Promise((resolve, reject) => {
      const outgoing = (secure ? requestHttps : requestHttp)(
        {
          hostname: hostname.replace(/^\[|\]$/g, ''),
          port,
          method,
          path: question === '' ? way : `${way}?${question}`,
          headers: { ...signed, 'content-length': String(length) },
          agent: agent!,
          timeout: silenceMs,
        },
        (answer) => {
          // From here on the reader may be the slow one.
          outgoing.setTimeout(0)
          resolve(answer)
        },
      )
      outgoing.on('error', reject)
      outgoing.on('timeout', () => outgoing.destroy(new Error(`The S3 store is silent for ${silenceMs / 1000} s`)))
      for (const piece of body) outgoing.write(piece)
      outgoing.end()
    })
  }

  /** The answer, whose body is still to be read. Trouble that may pass is tried again: all requests can be repeated. */
  async function ask(asked: Asked, fine: number[]): Promise<IncomingMessage> {
    for (let number = 1; ; number++) {
      let problem: Error
      try {
        const answer = await attempt(asked)
        if (fine.includes(answer.statusCode!)) return answer
        problem = new S3Error(answer.statusCode!, asked, (await buffer(answer)).toString('utf8'))
        if (answer.statusCode! < 500 && answer.statusCode !== 429) throw problem
      } catch (error) {
        if (error instanceof S3Error && error.status < 500 && error.status !== 429) throw error
        problem = error as Error
      }
      if (number === attemptsMax) throw problem
      await sleep(100 * 4 ** (number - 1))
    }
  }

  const textOf = async (asked: Asked, fine: number[]) => (await buffer(await ask(asked, fine))).toString('utf8')

  async function writeParts(path: string, parts: AsyncIterator<Uint8Array[]>, first: Uint8Array[]) {
    const made = await textOf({ method: 'POST', path, query: { uploads: '' } }, [200])
    const uploadId = valueIn(made, 'UploadId')
    if (uploadId === undefined) throw new Error('The S3 store began an upload without naming it')
    const tags: string[] = []
    let body: Uint8Array[] | undefined = first
    while (body) {
      if (tags.length === partsMax) throw new Error(`An upload to the S3 store has at most ${partsMax} parts`)
      const query = { partNumber: String(tags.length + 1), uploadId }
      const answer = await ask({ method: 'PUT', path, query, body }, [200])
      answer.resume()
      tags.push(answer.headers.etag ?? '')
      body = (await parts.next()).value
    }
    const list = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const text = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`
    const done = await textOf({ method: 'POST', path, query: { uploadId }, body: [Buffer.from(text)] }, [200])
    // The store may find out only after it has said 200.
    if (done.includes('<Error>')) throw new S3Error(500, { method: 'POST', path }, done)
  }

  /** Parts of writes that were interrupted; they cost as much as the others. */
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
        // Also the sender is told that nobody reads on.
        await parts.return(undefined)
      }
    },

    async read(key, range) {
      const headers = range ? { range: `bytes=${range.first}-${range.last}` } : {}
      const answer = await ask({ method: 'GET', path: pathOf(key), headers }, [200, 206, 404])
      if (answer.statusCode !== 404) return answer
      answer.resume()
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
          // Whatever else is in the bucket is not ours.
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

/** Pieces gathered into parts; only the last one is smaller than its size. */
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

/** The answers that we read are flat and have no attributes; an ETag or a token may be escaped. */
function valueIn(xml: string, name: string): string | undefined {
  const value = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return value?.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
