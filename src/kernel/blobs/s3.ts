/**
 * Stores contents in an S3-compatible store with path-style addresses (`/bucket/folder/ab/cd/<key>`). A content that fits into one part is
 * sent in one request. A larger content is sent as a multipart upload, with one part in memory at a time.
 */
import type { Clock } from '../clock.ts'
import { type Blobs, blobKeyPattern, pathOfKey, type S3Settings } from './blobs.ts'
import { openStore, requestText, S3Error, type S3Store, sendWithRetries, xmlValue } from './s3-requests.ts'

/** S3 requires parts of at least 5 MiB, except for the last part. */
const partBytes = 5 * 1024 * 1024
const partsMax = 10_000

/** Returns the size of a part. Every thousand parts it grows by 5 MiB, so that 10,000 parts hold 275 GB instead of 50 GB. */
export const sizeOfPart = (number: number) => partBytes * (1 + Math.floor((number - 1) / 1000))

export function createS3Blobs(settings: S3Settings, now: Clock): Blobs {
  const store = openStore(settings, now)
  const prefix = settings.folder === '' ? '' : `${settings.folder}/`
  const pathOf = (key: string) => prefix + pathOfKey(key)
  return {
    async write(key, content) {
      const path = pathOf(key)
      const parts = splitIntoParts(content)
      try {
        const first = await parts.next()
        const firstPart = first.done ? [] : first.value
        const fitsIntoOnePart = first.done || lengthOf(firstPart) < sizeOfPart(1)
        if (fitsIntoOnePart) await requestText(store, { method: 'PUT', path, body: firstPart }, [200])
        else await writeParts(store, path, parts, firstPart)
      } finally {
        // `return` also ends the iteration over `content`, even after a failure.
        await parts.return(undefined)
      }
    },

    async read(key, range) {
      const headers = range ? { range: `bytes=${range.first}-${range.last}` } : {}
      const response = await sendWithRetries(store, { method: 'GET', path: pathOf(key), headers }, [200, 206, 404])
      if (response.statusCode !== 404) return response
      response.resume()
      return undefined
    },

    async remove(key) {
      const path = pathOf(key)
      await abortUploads(store, path)
      await requestText(store, { method: 'DELETE', path }, [200, 204, 404])
    },

    async *keys() {
      let token: string | undefined
      do {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const page = await requestText(store, { method: 'GET', path: '', query }, [200])
        for (const item of page.split('<Contents>').slice(1)) {
          const path = xmlValue(item, 'Key') ?? ''
          const key = path.split('/').at(-1)!
          // Objects that Waypost did not write are skipped.
          if (!blobKeyPattern.test(key) || path !== pathOf(key)) continue
          yield { key, changedAt: new Date(xmlValue(item, 'LastModified') ?? 0) }
        }
        token = xmlValue(
          page.split('<Contents>')[0]! + page.slice(page.lastIndexOf('</Contents>')),
          'NextContinuationToken',
        )
      } while (token !== undefined)
    },
  }
}

async function writeParts(store: S3Store, path: string, parts: AsyncIterator<Uint8Array[]>, first: Uint8Array[]) {
  const created = await requestText(store, { method: 'POST', path, query: { uploads: '' } }, [200])
  const uploadId = xmlValue(created, 'UploadId')
  if (uploadId === undefined) throw new Error('The S3 store started an upload without an UploadId')
  const tags: string[] = []
  let body: Uint8Array[] | undefined = first
  while (body) {
    if (tags.length === partsMax) throw new Error(`An upload to the S3 store has at most ${partsMax} parts`)
    const query = { partNumber: String(tags.length + 1), uploadId }
    const response = await sendWithRetries(store, { method: 'PUT', path, query, body }, [200])
    response.resume()
    tags.push(response.headers.etag ?? '')
    body = (await parts.next()).value
  }
  const list = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
  const text = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`
  const completed = await requestText(
    store,
    { method: 'POST', path, query: { uploadId }, body: [Buffer.from(text)] },
    [200],
  )
  // S3 may answer 200 and report a failure in the body.
  if (completed.includes('<Error>')) throw new S3Error(500, { method: 'POST', path }, completed)
}

/** Aborts interrupted multipart uploads, whose parts occupy paid storage. */
async function abortUploads(store: S3Store, path: string) {
  const uploads = await requestText(
    store,
    { method: 'GET', path: '', query: { uploads: '', prefix: path } },
    [200, 404, 501],
  )
  for (const upload of uploads.split('<Upload>').slice(1)) {
    const uploadId = xmlValue(upload, 'UploadId')
    if (uploadId === undefined || xmlValue(upload, 'Key') !== path) continue
    await requestText(store, { method: 'DELETE', path, query: { uploadId } }, [200, 204, 404])
  }
}

const lengthOf = (pieces: Uint8Array[]) => pieces.reduce((sum, piece) => sum + piece.length, 0)

/** Groups pieces into parts. Only the last part may be smaller than `sizeOfPart`. */
async function* splitIntoParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[], undefined> {
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
