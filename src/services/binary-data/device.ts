import type { Uploads } from '../../gateway/contract.ts'
import type { BinaryData } from './contract.ts'

/** What stands behind the extension bcx: a device asks on its own channel and uploads over HTTP. */
export const uploads = (binaryData: BinaryData): Uploads => ({
  issue: (endpoint) => binaryData.issueUploadToken(endpoint),
})
