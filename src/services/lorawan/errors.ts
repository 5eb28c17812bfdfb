import { defineError } from '../../kernel/errors.ts'

// Each kind of object has one 'not found' error. It is the same whether the object is missing, belongs to another tenant or is not readable
// for the caller, so that it does not reveal which objects exist.
export const NoAppIntegration = defineError<{ id: number }>(
  'no_such_app_integration',
  404,
  'There is no application integration {id}, or the caller may not read it',
)
export const NoDeviceIntegration = defineError<{ id: number }>(
  'no_such_device_integration',
  404,
  'There is no device integration {id} in this application integration, or the caller may not read it',
)
export const NoAccountIntegration = defineError<{ id: number }>(
  'no_such_account_integration',
  404,
  'There is no account integration {id}, or the caller may not read it',
)
export const NoGatewayIntegration = defineError<{ id: number }>(
  'no_such_gateway_integration',
  404,
  'There is no gateway integration {id} in this account integration, or the caller may not read it',
)
export const NetUsernameTaken = defineError<{ netUsername: string }>(
  'net_username_taken',
  409,
  'netUsername: there is already an integration of {netUsername} with this identity server',
)
export const AppNameTaken = defineError<{ appName: string }>(
  'app_integration_taken',
  409,
  'appName: application {appName} already has an integration',
)
export const DevicesAttached = defineError<{ count: number }>(
  'app_integration_has_devices',
  409,
  'The integration has device integrations ({count}); delete them first',
)
export const GatewaysAttached = defineError<{ count: number }>(
  'account_integration_has_gateways',
  409,
  'The integration has gateway integrations ({count}); delete them first',
)
export const NetworkFailed = defineError<{ problem: string }>(
  'lorawan_network_failed',
  502,
  'The LoRaWAN network server failed: {problem}',
)
