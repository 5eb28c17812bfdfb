/** Assembles the parts of the configuration registry. */
import type { Gateway } from '../../gateway/contract.ts'
import type { Identity } from '../../identity/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { Configuration } from './contract.ts'
import { defaultName } from './schemas.ts'
import { type BatchOperations, createBatchOperations } from './service/batches.ts'
import { createContents } from './service/contents.ts'
import { createDefaultOperations, type DefaultOperations } from './service/defaults.ts'
import { createDeletionOperations, type DeletionOperations } from './service/deletions.ts'
import { createDeviceOperations, type DeviceOperations } from './service/device-requests.ts'
import { createEndpointOperations, type EndpointOperations } from './service/endpoints.ts'
import { createHandovers } from './service/handovers.ts'
import { createSchemaOperations } from './service/payload.ts'
import { createPushes, type Pushes } from './service/pushes.ts'
import { createStatusOperations, type StatusOperations } from './service/statuses.ts'
import { createSystemOperations, type SystemOperations } from './service/system.ts'
import { createConfigurationWork } from './service/work.ts'
import { findEffectiveId } from './store/deliveries.ts'

export interface ConfigurationService {
  endpoints: EndpointOperations
  defaults: DefaultOperations
  batches: BatchOperations
  statuses: StatusOperations
  system: SystemOperations
  device: DeviceOperations
  deletions: DeletionOperations
  pushes: Pushes
  api: Configuration
  stop(): Promise<void>
}

interface NeededServices {
  identity: Identity
  applications: Applications
  register: Register
  gateway: Gateway
}

export function createConfiguration(
  kit: Kit,
  { identity, applications, register, gateway }: NeededServices,
): ConfigurationService {
  const contents = createContents(kit)
  const pushes = createPushes({ kit, gateway, register, contents })
  const handovers = createHandovers(kit, pushes)
  const schemas = createSchemaOperations(applications)
  const deps = { kit, applications, register, schemas, pushes }
  return {
    endpoints: createEndpointOperations(deps),
    defaults: createDefaultOperations(deps),
    batches: createBatchOperations(deps),
    statuses: createStatusOperations(kit, register),
    system: createSystemOperations(kit, { identity, applications, register }),
    device: createDeviceOperations({ db: kit.db, contents, handovers, pushes }),
    deletions: createDeletionOperations(kit, register),
    pushes,
    api: {
      work: createConfigurationWork(deps),
      async effective({ tenantId, versionName, endpointId }, name = defaultName) {
        const configId = await findEffectiveId(kit.db.sql, { tenantId, versionName, endpointId, name })
        const content = configId && (await contents.find(tenantId, configId))
        return content ? { name, configId, config: content.value } : undefined
      },
    },
    async stop() {
      await pushes.settled()
      await handovers.settled()
    },
  }
}
