import { contract } from '../../kernel/contract.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'

export interface BinaryData {
  /** A new upload token for an endpoint that has shown who it is; not shown again. */
  issueUploadToken(endpoint: DeviceEndpoint): Promise<string>
}
export const BinaryData = contract<BinaryData>('binary-data')
