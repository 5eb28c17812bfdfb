/** Answers that exist as JSON text already: sent as they are, never parsed and written again. */
import { etagOf } from '../../kernel/etag.ts'

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

export interface ApplicationDocument extends Document {
  name: string
  tenantId: string
}
