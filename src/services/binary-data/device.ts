/** Implements the device extension bcx: a device requests an upload token on its connection and uploads over HTTP. */
import type { Extension } from '../../kernel/device.ts'
import { resources } from '../../kernel/device-resources.ts'
import type { BinaryData } from './contract.ts'

export const uploadTokens = (binaryData: Pick<BinaryData, 'issueUploadToken'>): Extension => ({
  name: 'bcx',
  receive: resources({
    '/token': async ({ endpoint }) => ({
      payload: { token: await binaryData.issueUploadToken(endpoint) },
      // Users that can read the traffic log must not be able to upload on behalf of the device.
      recordedPayload: { token: '***' },
      always: true,
    }),
  }),
})
