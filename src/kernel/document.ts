/** A response body that is stored as JSON text and sent unchanged, without parsing and serializing it again. */
import { etagOf } from './etag.ts'

export interface Document {
  body: string | Buffer
  etag: string
}

/**
 * Node.js sends a text shorter than this in one write with the headers. A longer text is kept as bytes, so that it is encoded only once.
 */
const shortLength = 16 * 1024

export const documentOf = (text: string): Document => ({
  body: text.length < shortLength ? text : Buffer.from(text),
  etag: etagOf(text),
})
