/** The extensions that the gateway speaks itself: the words on the wire are here, what they are about stands behind. */
import type { Kit } from '../../kernel/define-service.ts'
import type { Extension, Push } from '../../kernel/device.ts'
import type { Applications } from '../../services/applications/contract.ts'
import type { Register } from '../../services/register/contract.ts'
import type { Behind, ConnectivityWatch } from '../contract.ts'
import { type Attached, attachTo } from './attached.ts'
import { commands, typeOfPush } from './commands.ts'
import { configurations, nameOfPush } from './configurations.ts'
import { dataCollection } from './data-collection.ts'
import { createEnrichment } from './enrichment.ts'
import { createObservation } from './observation.ts'
import { createTelling } from './telling.ts'
import { timeSynchronisation } from './time.ts'
import { uploads } from './uploads.ts'

export interface GatewayExtensions {
  /** dcx, cmx, cmx_ota, cex, bcx, tsx. */
  extensions: Extension[]
  attach(behind: Partial<Behind>): void
  /** Undefined: nobody wants to know. */
  watch(): ConnectivityWatch | undefined
  /** Whether the device wants to be pushed this, asked before it is sent. What `connected` answers has been asked for already. */
  wants(endpointId: string, push: Push): Promise<boolean>
}

export function createExtensions(deps: {
  kit: Pick<Kit, 'db' | 'bus' | 'jobs' | 'now' | 'log' | 'metrics'>
  register: Pick<Register, 'metadataOf'>
  applications: Pick<Applications, 'follow'>
}): GatewayExtensions {
  const { kit, register, applications } = deps
  const attached: Attached = { receivers: [] }
  const observation = createObservation(kit)
  return {
    extensions: [
      dataCollection(attached, createEnrichment(kit.bus, register, applications), createTelling(kit)),
      configurations('cmx', attached, observation),
      configurations('cmx_ota', attached, observation),
      commands(attached, observation),
      uploads(attached),
      timeSynchronisation(kit.now),
    ],
    attach: (behind) => attachTo(attached, behind),
    watch: () => attached.connectivity,
    async wants(endpointId, push) {
      const name = push.extension === 'cex' ? typeOfPush(push) : nameOfPush(push)
      return name === undefined || (await observation.of(endpointId, push.extension))(name)
    },
  }
}
