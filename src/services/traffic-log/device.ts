import type { Extension } from '../../kernel/device.ts'
import { InvalidRequest } from '../../kernel/errors.ts'
import { NoOutcomePath } from './errors.ts'
import type { TrafficLogService } from './service.ts'

/** `/<extension>/<request id>`: the number is the id of this request and of the one that is asked about. */
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
