import type { Http } from '../../../kernel/http/routes.ts'
import { readRealm, updateRealm } from './schemas.ts'
import type { RealmSettings } from './service.ts'

export function realmRoutes(http: Http, settings: RealmSettings) {
  http.get('/realm', { schema: readRealm, config: { scope: 'identity:realm:read', on: 'tenant' } }, ({ ctx }) =>
    settings.read(ctx),
  )
  http.put(
    '/realm',
    { schema: updateRealm, config: { scope: 'identity:realm:update', on: 'tenant' } },
    ({ ctx, body }) => settings.update(ctx, body),
  )
}
