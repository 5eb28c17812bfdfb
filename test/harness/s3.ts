/**
 * S3-compatible store in memory. It checks signatures, part sizes and missing parts as real stores do, and tests can make it fail. The
 * variables `TEST_S3_URL`, `TEST_S3_ACCESS_KEY` and `TEST_S3_SECRET_KEY` name a real store for the tests that also use one (`realS3`).
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { S3Settings } from '../../src/kernel/blobs/blobs.ts'
import { sign } from '../../src/kernel/blobs/signature.ts'
import { newId } from '../../src/kernel/ids.ts'
import { afterAllTests } from './database.ts'

interface StoredObject {
  bytes: Buffer
  at: Date
}

export interface TestS3 {
  settings: S3Settings
  objects: Map<string, StoredObject>
  /** Multipart uploads that are neither completed nor aborted. */
  unfinished: Map<string, { path: string; parts: Map<number, Buffer> }>
  requests: string[]
  /** Called before each request. A returned status becomes the response; `reset` breaks the connection. */
  injectFailure: (request: string) => number | 'reset' | undefined
}

const credentials = { accessKey: 'test-access', secretKey: 'test-secret', region: 'us-east-1' }
const bucket = 'waypost'
const pageSize = 100
const partSizeMin = 5 * 1024 * 1024

const etagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`

/** Returns the settings of the real store in `TEST_S3_URL`, if it is set. */
export function realS3(): S3Settings | undefined {
  const { TEST_S3_URL: url, TEST_S3_ACCESS_KEY: accessKey = '', TEST_S3_SECRET_KEY: secretKey = '' } = process.env
  if (!url) return undefined
  const { origin, pathname } = new URL(url)
  const [named = '', ...folders] = pathname.split('/').filter(Boolean)
  return { origin, bucket: named, folder: [...folders, newId()].join('/'), region: 'us-east-1', accessKey, secretKey }
}

export async function openS3(): Promise<TestS3> {
  const state: TestS3 = {
    settings: { origin: '', bucket, folder: 'some folder', ...credentials },
    objects: new Map(),
    unfinished: new Map(),
    requests: [],
    injectFailure: () => undefined,
  }
  const server = createServer((request, response) => void serve(state, request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  afterAllTests(() => {
    server.closeAllConnections()
    server.close()
  })
  state.settings.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

function respond(response: ServerResponse, status: number, body = '', headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body)
}
const sendError = (response: ServerResponse, status: number, code: string) =>
  respond(response, status, `<Error><Code>${code}</Code></Error>`)

function isSigned({ method, headers }: IncomingMessage, url: URL, body: Buffer): boolean {
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? []
  const signedHeaders = Object.fromEntries(names.split(';').map((name) => [name, String(headers[name] ?? '')]))
  const { host = '', 'x-amz-date': moment = '', 'x-amz-content-sha256': bodyHash = '', ...rest } = signedHeaders
  if (createHash('sha256').update(body).digest('hex') !== bodyHash) return false
  const at = new Date(moment.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const request = {
    method: method!,
    host,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: rest,
  }
  return sign({ ...request, bodyHash }, credentials, at).authorization === headers.authorization
}

function list({ objects, unfinished }: TestS3, response: ServerResponse, query: URLSearchParams) {
  const prefix = query.get('prefix') ?? ''
  if (query.has('uploads')) {
    const found = [...unfinished].filter(([, { path }]) => path.startsWith(prefix))
    const items = found.map(([id, { path }]) => `<Upload><Key>${path}</Key><UploadId>${id}</UploadId></Upload>`)
    return respond(response, 200, `<ListMultipartUploadsResult>${items.join('')}</ListMultipartUploadsResult>`)
  }
  const after = query.get('continuation-token') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
  const page = keys.slice(0, pageSize).map((key) => {
    const { at, bytes } = objects.get(key)!
    return `<Contents><Key>${key}</Key><LastModified>${at.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`
  })
  const more = keys.length > pageSize ? `<NextContinuationToken>${keys[pageSize - 1]}</NextContinuationToken>` : ''
  return respond(response, 200, `<ListBucketResult>${more}${page.join('')}</ListBucketResult>`)
}

function complete(
  { objects, unfinished }: TestS3,
  response: ServerResponse,
  path: string,
  uploadId: string,
  body: string,
) {
  const upload = unfinished.get(uploadId)
  if (!upload) return sendError(response, 404, 'NoSuchUpload')
  const named = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)]
  const parts = named.map(([, number, tag]) => {
    const bytes = upload.parts.get(Number(number))
    return bytes && etagOf(bytes) === tag ? bytes : undefined
  })
  if (parts.length === 0 || parts.includes(undefined)) return sendError(response, 400, 'InvalidPart')
  if (parts.slice(0, -1).some((part) => part!.length < partSizeMin)) return sendError(response, 400, 'EntityTooSmall')
  objects.set(path, { bytes: Buffer.concat(parts as Buffer[]), at: new Date() })
  unfinished.delete(uploadId)
  return respond(response, 200, '<CompleteMultipartUploadResult/>')
}

function read({ objects }: TestS3, response: ServerResponse, path: string, range: string | undefined) {
  const found = objects.get(path)
  if (!found) return sendError(response, 404, 'NoSuchKey')
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
  if (first === undefined) return response.writeHead(200).end(found.bytes)
  return response.writeHead(206).end(found.bytes.subarray(Number(first), Number(last) + 1))
}

async function serve(state: TestS3, request: IncomingMessage, response: ServerResponse) {
  const { objects, unfinished } = state
  const body = await buffer(request)
  const url = new URL(request.url!, 'http://s3.test')
  const query = url.searchParams
  state.requests.push(`${request.method} ${request.url}`)
  const failure = state.injectFailure(`${request.method} ${request.url}`)
  if (failure === 'reset') return request.socket.destroy()
  if (failure) return sendError(response, failure, 'InternalError')
  if (!isSigned(request, url, body)) return sendError(response, 403, 'SignatureDoesNotMatch')
  const [, named, ...steps] = decodeURIComponent(url.pathname).split('/')
  if (named !== bucket) return sendError(response, 404, 'NoSuchBucket')
  const path = steps.join('/')
  const uploadId = query.get('uploadId')
  switch (request.method) {
    case 'GET':
      return path === '' ? list(state, response, query) : read(state, response, path, request.headers.range)
    case 'POST': {
      if (uploadId !== null) return complete(state, response, path, uploadId, body.toString('utf8'))
      const id = `${newId()}+/=&`
      unfinished.set(id, { path, parts: new Map() })
      return respond(response, 200, `<Result><UploadId>${id.replace('&', '&amp;')}</UploadId></Result>`)
    }
    case 'PUT': {
      if (uploadId === null) objects.set(path, { bytes: body, at: new Date() })
      else if (!unfinished.has(uploadId)) return sendError(response, 404, 'NoSuchUpload')
      else unfinished.get(uploadId)!.parts.set(Number(query.get('partNumber')), body)
      return respond(response, 200, '', { etag: etagOf(body) })
    }
    case 'DELETE':
      if (uploadId === null) objects.delete(path)
      else if (!unfinished.delete(uploadId)) return sendError(response, 404, 'NoSuchUpload')
      return respond(response, 204)
    default:
      return sendError(response, 405, 'MethodNotAllowed')
  }
}
