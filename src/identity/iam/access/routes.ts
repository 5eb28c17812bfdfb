import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { listOf } from '../../../kernel/schema.ts'
import { explainUser, listHolders } from './schemas.ts'
import type { AccessExplanation } from './service.ts'

const scope = ['identity:user:read', 'identity:role:read', 'identity:grant:read']
const resourcesMax = 20

/** Returns the names in the parameter `resource`. */
function resourcesOf(parameter: string | string[] | undefined): string[] {
  const names = listOf(parameter) ?? []
  if (names.length > resourcesMax) throw invalidField('resource', `expected at most ${resourcesMax} resources`)
  return names
}

export function accessRoutes(http: Http, access: AccessExplanation) {
  http.get('/access', { schema: listHolders, config: { scope, on: 'tenant' } }, ({ ctx, query }) =>
    access.holders(ctx, { ...query, resources: resourcesOf(query.resource) }),
  )
  http.get('/users/:id/access', { schema: explainUser, config: { scope, on: 'resource' } }, ({ ctx, params, query }) =>
    access.ofUser(ctx, { id: params.id, resources: resourcesOf(query.resource) }),
  )
}
