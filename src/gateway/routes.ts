import type { Http } from '../kernel/http/routes.ts'
import type { ListDeviceAddresses } from './addresses.ts'
import type { ListConnections } from './connection-history.ts'
import * as schemas from './schemas.ts'

export function routes(
  http: Http,
  { listAddresses, listConnections }: { listAddresses: ListDeviceAddresses; listConnections: ListConnections },
) {
  http.get(
    '/addresses',
    { schema: schemas.listAddresses, config: { scope: 'authenticated' } },
    async ({ ctx: { tenantId } }) => ({ content: await listAddresses(tenantId) }),
  )

  http.get(
    '/endpoints/:endpointId/connections',
    { schema: schemas.listConnections, config: { scope: 'endpoint:read' } },
    async ({ ctx, params }) => ({ content: await listConnections(ctx, params.endpointId) }),
  )
}
