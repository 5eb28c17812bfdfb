/** Assembles the parts of the LoRaWAN connector. */
import type { Deps } from './service/access.ts'
import {
  type AccountIntegrationOperations,
  createAccountIntegrationOperations,
} from './service/account-integrations.ts'
import { type AppIntegrationOperations, createAppIntegrationOperations } from './service/app-integrations.ts'
import { createDeletions, type Deletions } from './service/deletions.ts'
import { createDeviceIntegrationOperations, type DeviceIntegrationOperations } from './service/device-integrations.ts'
import {
  createGatewayIntegrationOperations,
  type GatewayIntegrationOperations,
} from './service/gateway-integrations.ts'

export interface LorawanService {
  apps: AppIntegrationOperations
  devices: DeviceIntegrationOperations
  accounts: AccountIntegrationOperations
  gateways: GatewayIntegrationOperations
  deletions: Deletions
}

export const createLorawan = (deps: Deps): LorawanService => ({
  apps: createAppIntegrationOperations(deps),
  devices: createDeviceIntegrationOperations(deps),
  accounts: createAccountIntegrationOperations(deps),
  gateways: createGatewayIntegrationOperations(deps),
  deletions: createDeletions(deps),
})
