import type { Http } from '../../../kernel/http/routes.ts'
import { canonicalScopes } from '../../scopes.ts'
import { readMe } from './schemas.ts'

export function meRoutes(http: Http) {
  http.get('/me', { schema: readMe, config: { scope: 'authenticated' } }, ({ ctx: { caller } }) => ({
    tenantId: caller.tenantId,
    subject: caller.subject,
    ...(caller.username !== undefined && { username: caller.username }),
    roles: caller.roles,
    permissions: caller.permissions.map(({ resource, scopes }) => ({ resource, scopes: canonicalScopes([...scopes]) })),
  }))
}
