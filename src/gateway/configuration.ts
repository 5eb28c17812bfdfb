import { defineInstance, forApplicationAndVersion } from '../kernel/configuration.ts'
import { defaulted, type Static, Type } from '../kernel/schema.ts'

const method = Type.Optional(
  Type.Object({
    required: defaulted(
      Type.Boolean({
        description: 'True when clients that do not authenticate with this method are refused',
        default: false,
      }),
    ),
  }),
)
const transport = Type.Optional(Type.Object({ 'basic-auth': method, 'x509-auth': method }))

/** The authentication methods that a tenant requires, for each transport (document 3, 1.16). */
const TenantShape = Type.Object({
  transports: Type.Optional(
    Type.Object({
      mqtt: Type.Optional(
        // Only TLS has client certificates: requiring x509-auth on another transport disables that transport.
        Type.Object({ tcp: transport, tls: transport, ws: transport }),
      ),
      // HTTP has no client authentication: requiring a method disables HTTP for the devices of the tenant.
      http: transport,
    }),
  ),
})
export type TenantConfiguration = Static<typeof TenantShape>

export const gatewayInstance = defineInstance({
  name: 'kpc',
  group: 'Communication',
  description: 'Device gateway',
  urlPrefix: '/kpc',
  schemas: {
    /** The extensions that devices may use. If absent, they may use all extensions. */
    ...forApplicationAndVersion(
      Type.Object({
        'allowed-extension-instances': Type.Optional(
          Type.Array(Type.Enum(['dcx', 'epmx', 'tsx', 'cmx', 'cmx_ota', 'cex', 'bcx', 'rsx', 'adx']), {
            uniqueItems: true,
          }),
        ),
      }),
    ),
    tenant: TenantShape,
  },
})

export const gatewayInstances = [gatewayInstance]
