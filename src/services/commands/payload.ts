/** Parses the payload of a command from the body of a request. */
import { isUtf8 } from 'node:buffer'
import { InvalidRequest, invalidField, UnsupportedMediaType } from '../../kernel/errors.ts'
import { parseJson } from '../../kernel/http/body.ts'

const accepted = 'application/json or text/plain'

/** Returns JSON text, or null for an empty body. A body of the type text/plain becomes a JSON string. */
export function payloadOf(body: Buffer, contentType: string | undefined): string | null {
  if (body.length === 0) return null
  const type = (contentType ?? '').split(';', 1).join().trim().toLowerCase()
  if (!type) throw invalidField('Content-Type', `expected ${accepted}`)
  if (type === 'text/plain') {
    if (!isUtf8(body)) throw InvalidRequest({ problem: 'body: expected valid UTF-8' })
    return JSON.stringify(body.toString('utf8'))
  }
  if (type !== 'application/json') throw UnsupportedMediaType({ given: type.slice(0, 100), accepted })
  return JSON.stringify(parseJson(body, { plainData: true }))
}
