/** Stub of the configuration service for device journeys. */
import { Gateway } from '../../src/gateway/contract.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import { Configuration } from '../../src/services/configuration/contract.ts'
import { endpointConfigurations } from '../../src/services/configuration/device.ts'

export const configurationServiceStub = (configurations: Configuration) =>
  defineService({
    name: 'configuration',
    provides: Configuration,
    needs: { gateway: Gateway },
    build: (_kit, { gateway }) => ({ api: configurations, device: [endpointConfigurations(configurations, gateway)] }),
  })
