/** Implements the requests and reports of devices (extension `cmx`). */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Db } from '../../../kernel/db.ts'
import type { DeviceEndpoint, Push } from '../../../kernel/device.ts'
import type { DeviceConfiguration, DeviceConfigurations } from '../../../kernel/device-configuration.ts'
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
  pushes: Pick<Pushes, 'handedOver'>
}

const lookupsPerStatement = 500

export function createDeviceOperations({ db, contents, handovers, pushes }: Deps): DeviceOperations {
  const outdated = createBatcher<DeviceEndpoint, store.EffectiveRow[]>(async (endpoints) => {
    const rows = Map.groupBy(await store.findOutdated(db.sql, endpoints), ({ position }) => position)
    return endpoints.map((_, position) => rows.get(position) ?? [])
  }, lookupsPerStatement)

  return {
    async current(endpoint, name = defaultName, known) {
      const found = await store.findEffectiveId(db.sql, { ...endpoint, name })
      if (!found) return undefined
      const { configId } = found
      // The device has it already: its content is not sent.
      if (configId === known) return { name, configId, config: null }
      const content = await contents.find(endpoint.tenantId, configId)
      if (!content) return undefined
      await handovers.mark({ ...endpoint, name, configId })
      return { name, configId, config: content.value }
    },

    applied: (endpoint, { name = defaultName, configId, statusCode, reasonPhrase = null }) =>
      handovers.report({ ...endpoint, name, configId, statusCode, reasonPhrase }),

    async outdated(endpoint) {
      const configurations: DeviceConfiguration[] = []
      for (const { name, configId } of (await outdated(endpoint)) ?? []) {
        const content = await contents.find(endpoint.tenantId, configId)
        if (content) configurations.push({ name, configId, config: content.value })
      }
      return configurations
    },

    handedOver(endpoint, { name = defaultName, payload }) {
      const { configId } = payload as { configId: string }
      pushes.handedOver(endpoint.endpointId, name, configId)
      void handovers.mark({ ...endpoint, name, configId })
    },
  }
}
