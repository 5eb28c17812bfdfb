import type { Http } from '../kernel/http/routes.ts'
import type { ListDeviceAddresses } from './addresses.ts'
import * as schemas from './schemas.ts'

export function routes(http: Http, listAddresses: ListDeviceAddresses) {
  http.get(
    '/addresses',
    { schema: schemas.listAddresses, config: { scope: 'authenticated' } },
    async ({ ctx: { tenantId } }) => ({ content: await listAddresses(tenantId) }),
  )
}
