/** An answer that exists as JSON text already: sent as it is, never parsed and written again. */
import { etagOf } from './etag.ts'

export interface Document {
  body: string | Buffer
  etag: string
}

/** Node writes a short text together with the headers, in one piece; a long one is cheaper when it is bytes already. */
const shortLength = 16 * 1024

export const documentOf = (text: string): Document => ({
  body: text.length < shortLength ? text : Buffer.from(text),
  etag: etagOf(text),
})
