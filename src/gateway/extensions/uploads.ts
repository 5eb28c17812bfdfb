/** bcx: a token to upload binary data with. */
import type { Extension } from '../../kernel/device.ts'
import { resources } from '../../kernel/device-resources.ts'
import type { Attached } from './attached.ts'
import { NoUploads } from './errors.ts'

export const uploads = (attached: Attached): Extension => ({
  name: 'bcx',
  receive: resources({
    '/token': async ({ endpoint }) => {
      if (!attached.bcx) throw NoUploads()
      return { payload: { token: await attached.bcx.issue(endpoint) }, always: true }
    },
  }),
})
