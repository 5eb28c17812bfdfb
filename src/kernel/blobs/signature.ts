/** AWS Signature Version 4 in the Authorization header, which every S3-compatible store accepts. */
import { createHash, createHmac } from 'node:crypto'

export interface RequestToSign {
  method: string
  host: string
  /** Path of the request, percent-encoded exactly as it is sent. */
  path: string
  query: Record<string, string>
  /** Headers of the request, with names in lower case. All of them are signed. */
  headers: Record<string, string>
  /** Hexadecimal SHA-256 of the body. */
  bodyHash: string
}

export const sha256Of = (...pieces: Uint8Array[]) => {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Encodes as RFC 3986 requires. encodeURIComponent leaves five characters unencoded that AWS expects to be encoded. */
export const encodeRfc3986 = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)

export const encodeQuery = (query: Record<string, string>) =>
  Object.entries(query)
    .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&')

/** Returns the headers to send: the given headers plus host, date, body hash and Authorization. */
export function sign(
  request: RequestToSign,
  credentials: { accessKey: string; secretKey: string; region: string },
  date: Date,
): Record<string, string> {
  const timestamp = date.toISOString().replace(/[-:]|\.\d+/g, '')
  const day = timestamp.slice(0, 8)
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    'x-amz-content-sha256': request.bodyHash,
    'x-amz-date': timestamp,
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    request.method,
    request.path,
    encodeQuery(request.query),
    ...names.map((name) => `${name}:${headers[name]!.trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    request.bodyHash,
  ].join('\n')
  const scope = `${day}/${credentials.region}/s3/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', timestamp, scope, sha256Of(Buffer.from(canonical))].join('\n')
  const key = [credentials.region, 's3', 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${credentials.secretKey}`, day))
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}
