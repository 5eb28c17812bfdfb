import type { Extension } from '../../kernel/device.ts'
import { InvalidRequest } from '../../kernel/errors.ts'
import { NoOutcomePath } from './errors.ts'
import type { TrafficLogService } from './service.ts'

/**
 * Extension `rsx`: returns the outcome of an earlier request. The resource is `/<extension>/<request id>`. The request id of this message
 * must be the request id of the earlier request.
 */
export const requestStatus = (log: TrafficLogService): Extension => ({
  name: 'rsx',
  readsRequestId: true,
  async receive({ endpoint, resourcePath, requestId }) {
    const [, extension] = resourcePath.match(/^\/([a-z][a-z0-9_]*)$/) ?? []
    if (!extension) throw NoOutcomePath({ path: resourcePath })
    if (requestId === undefined) throw InvalidRequest({ problem: 'expected the id of the request after the extension' })
    return { payload: await log.outcome(endpoint, extension, requestId), always: true }
  },
})
