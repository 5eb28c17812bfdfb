import { contract } from '../../kernel/contract.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'

export interface BinaryData {
  /** Issues an upload token for an authenticated endpoint. It cannot be read again. */
  issueUploadToken(endpoint: DeviceEndpoint): Promise<string>
}
export const BinaryData = contract<BinaryData>('binary-data')
