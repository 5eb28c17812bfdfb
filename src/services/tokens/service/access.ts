import type { Ctx } from '../../../kernel/contract.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { EndpointRow } from '../store.ts'

type Scope = 'endpoint:read' | 'endpoint:update'

/** Returns the row if the caller has the scope on its endpoint. Otherwise throws the same error as for a missing row. */
export function requireScopeOn<E extends EndpointRow>(
  ctx: Ctx,
  scope: Scope,
  found: E | undefined,
  missing: () => Error,
): E {
  if (!found) throw missing()
  const { tenantId, applicationName, endpointId } = found
  const resource = onResource(tenantId, `application-${applicationName}`, `endpoint-${endpointId}`)
  if (!holds(ctx.caller, scope, resource)) throw missing()
  return found
}
