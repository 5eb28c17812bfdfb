/** Implements the requests and reports of devices (extension `cmx`). */
import type { Db } from '../../../kernel/db.ts'
import type { DeviceEndpoint, Push } from '../../../kernel/device.ts'
import type { DeviceConfigurations } from '../../../kernel/device-configuration.ts'
import { defaultName } from '../schemas.ts'
import * as store from '../store/deliveries.ts'
import type { Contents } from './contents.ts'
import type { Handovers } from './handovers.ts'
import type { Pushes } from './pushes.ts'

export interface DeviceOperations extends DeviceConfigurations {
  handedOver(endpoint: DeviceEndpoint, push: Push): void
}

interface Deps {
  db: Pick<Db, 'sql'>
  contents: Contents
  handovers: Handovers
  pushes: Pick<Pushes, 'handedOver' | 'onConnect'>
}

export function createDeviceOperations({ db, contents, handovers, pushes }: Deps): DeviceOperations {
  return {
    async current(endpoint, name = defaultName, known) {
      const configId = await store.findEffectiveId(db.sql, { ...endpoint, name })
      if (!configId) return undefined
      // The device already has this configuration, so its content is not sent.
      if (configId === known) return { name, configId, config: null }
      const content = await contents.find(endpoint.tenantId, configId)
      if (!content) return undefined
      await handovers.mark({ ...endpoint, name, configId })
      return { name, configId, config: content.value }
    },

    applied: (endpoint, { name = defaultName, configId, statusCode, reasonPhrase = null }) =>
      handovers.report({ ...endpoint, name, configId, statusCode, reasonPhrase }),

    /** Sends the pushes itself and returns none. They run in order with other pushes, so that no configuration is sent twice. */
    async outdated(endpoint) {
      await pushes.onConnect(endpoint)
      return []
    },

    handedOver(endpoint, { name = defaultName, payload }) {
      const { configId } = payload as { configId: string }
      pushes.handedOver(endpoint.endpointId, name, configId)
      void handovers.mark({ ...endpoint, name, configId })
    },
  }
}
