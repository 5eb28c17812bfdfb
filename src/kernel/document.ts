/** A response that already exists as JSON text; it is sent unchanged, never parsed and serialized again. */
import { etagOf } from './etag.ts'

export interface Document {
  body: string | Buffer
  etag: string
}

/** Node sends a shorter text in one write with the headers; a longer one is cheaper as bytes. */
const shortLength = 16 * 1024

export const documentOf = (text: string): Document => ({
  body: text.length < shortLength ? text : Buffer.from(text),
  etag: etagOf(text),
})
