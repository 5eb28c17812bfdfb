import { defineInstance, onBoth } from '../kernel/configuration.ts'
import { defaulted, type Static, Type } from '../kernel/schema.ts'

const method = Type.Optional(
  Type.Object({
    required: defaulted(Type.Boolean({ description: 'Clients without it are refused', default: false })),
  }),
)
const transport = Type.Optional(Type.Object({ 'basic-auth': method, 'x509-auth': method }))

/** What clients of a tenant have to present (document 3, 1.16). */
const TenantShape = Type.Object({
  transports: Type.Optional(
    Type.Object({
      mqtt: Type.Optional(
        // Only TLS has client certificates: x509-auth elsewhere closes that transport.
        Type.Object({ tcp: transport, tls: transport, ws: transport }),
      ),
      // HTTP has no client authentication: a tenant that requires any closes HTTP for its devices.
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
    /** Which extensions a device may talk to; absent: all of them. */
    ...onBoth(
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
