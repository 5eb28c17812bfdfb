/** Checks permissions on dashboards, and on the applications whose versions have a template. */
import { authorizeOrNotFound, type Ctx } from '../../kernel/contract.ts'
import { onResource, visibleResources } from '../../kernel/permissions.ts'
import { dashboardResourceName } from './contract.ts'
import { NoDashboard } from './errors.ts'

export const dashboardScopes = {
  create: 'tenant:dashboard:create',
  read: 'dashboard:read',
  update: 'dashboard:update',
  delete: 'dashboard:delete',
}

/**
 * Returns the dashboard. Throws 404 if it does not exist or the caller may not read it. Throws 403 if the caller may read it but lacks the
 * scope for `verb`.
 */
export function requireDashboard<T extends { tenantId: string }>(
  ctx: Ctx,
  dashboardId: string,
  found: T | undefined,
  verb: 'read' | 'update' | 'delete',
): T {
  const notFound = () => NoDashboard({ dashboardId })
  if (found?.tenantId !== ctx.tenantId) throw notFound()
  const access = { read: dashboardScopes.read, scope: dashboardScopes[verb] }
  authorizeOrNotFound(ctx, access, onResource(found.tenantId, dashboardResourceName(dashboardId)), notFound)
  return found
}

export const visibleDashboards = (ctx: Ctx) =>
  visibleResources(ctx.caller, dashboardScopes.read, ctx.tenantId, dashboardResourceName(''))

export function requireApplication(
  ctx: Ctx,
  { tenantId, applicationName }: { tenantId: string; applicationName: string },
  verb: 'read' | 'update',
  notFound: () => Error,
) {
  const access = { read: 'application:read', scope: `application:${verb}` }
  authorizeOrNotFound(ctx, access, onResource(tenantId, `application-${applicationName}`), notFound)
}
