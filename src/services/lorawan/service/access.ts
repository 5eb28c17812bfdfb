/**
 * Permissions on integrations. There are two trees: application → application integration → device, and tenant → account integration →
 * gateway.
 */
import type { Identity } from '../../../identity/contract.ts'
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import {
  holds,
  holdsSomewhere,
  onResource,
  type Resource,
  tenantSystem,
  visibleResources,
} from '../../../kernel/permissions.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import type { Commands } from '../../commands/contract.ts'
import { applicationResource, type Register } from '../../register/contract.ts'
import type { Codecs } from '../codecs.ts'
import { NoAccountIntegration, NoAppIntegration, NoDeviceIntegration, NoGatewayIntegration } from '../errors.ts'
import type { AppIntegrationRow, IntegrationRow, Visibility } from '../store/app-integrations.ts'
import type { DeviceIntegrationRow } from '../store/device-integrations.ts'
import type { GatewayIntegrationRow } from '../store/gateway-integrations.ts'

/** The parts of the platform that the operations use. */
export interface Deps {
  kit: Kit
  identity: Identity
  applications: Applications
  register: Register
  commands: Commands
  codecs: Codecs
}

const scopesOf = (kind: string) => ({ read: `${kind}:read`, update: `${kind}:update`, delete: `${kind}:delete` })
export type Action = 'read' | 'update' | 'delete'

export const appScopes = {
  ...scopesOf('net-app-integration'),
  create: 'application:net-app-integration:create',
  createDevice: 'net-app-integration:net-device-integration:create',
}
export const deviceScopes = scopesOf('net-device-integration')
export const accountScopes = {
  ...scopesOf('net-account-integration'),
  create: 'tenant:net-account-integration:create',
  createGateway: 'net-account-integration:net-gateway-integration:create',
}
export const gatewayScopes = scopesOf('net-gateway-integration')

export const appResourceName = (id: number) => `net-app-integration-${id}`
export const deviceResourceName = (id: number) => `net-device-integration-${id}`
export const accountResourceName = (id: number) => `net-account-integration-${id}`
export const gatewayResourceName = (id: number) => `net-gateway-integration-${id}`

export const onApplication = (tenantId: string, name: string) => onResource(tenantId, applicationResource(name))
const onApp = ({ tenantId, appName, id }: Pick<AppIntegrationRow, 'tenantId' | 'appName' | 'id'>) =>
  onResource(tenantId, applicationResource(appName), appResourceName(id))
const onDevice = ({ tenantId, appName, appIntegrationId, id }: DeviceIntegrationRow) =>
  onResource(tenantId, applicationResource(appName), appResourceName(appIntegrationId), deviceResourceName(id))
const onAccount = ({ tenantId, id }: IntegrationRow) => onResource(tenantId, accountResourceName(id))
const onGateway = ({ tenantId, accountIntegrationId, id }: GatewayIntegrationRow) =>
  onResource(tenantId, accountResourceName(accountIntegrationId), gatewayResourceName(id))

function requireRow<R>(
  ctx: Ctx,
  row: R | undefined,
  resource: (row: R) => Resource,
  scopes: { read: string; scope: string },
  notFound: () => Error,
): R {
  if (!row) throw notFound()
  authorizeOrNotFound(ctx, scopes, resource(row), notFound)
  return row
}

/**
 * Returns the integration. Throws 404 if the integration does not exist or the caller may not read it, and 403 if the caller may read it
 * but lacks `scope`.
 */
export const requireApp = (ctx: Ctx, id: number, row: AppIntegrationRow | undefined, scope = appScopes.read) =>
  requireRow(ctx, row, onApp, { read: appScopes.read, scope }, () => NoAppIntegration({ id }))
export const requireDevice = (ctx: Ctx, id: number, row: DeviceIntegrationRow | undefined, scope = deviceScopes.read) =>
  requireRow(ctx, row, onDevice, { read: deviceScopes.read, scope }, () => NoDeviceIntegration({ id }))
export const requireAccount = (ctx: Ctx, id: number, row: IntegrationRow | undefined, scope = accountScopes.read) =>
  requireRow(ctx, row, onAccount, { read: accountScopes.read, scope }, () => NoAccountIntegration({ id }))
export const requireGateway = (
  ctx: Ctx,
  id: number,
  row: GatewayIntegrationRow | undefined,
  scope = gatewayScopes.read,
) => requireRow(ctx, row, onGateway, { read: gatewayScopes.read, scope }, () => NoGatewayIntegration({ id }))

/** Returns whether the caller may list devices: the caller must be allowed to read the integration, or all devices in the integration. */
export const mayListBelow = (ctx: Ctx, row: AppIntegrationRow | undefined): row is AppIntegrationRow =>
  row !== undefined && [appScopes.read, deviceScopes.read].some((scope) => holds(ctx.caller, scope, onApp(row)))
export const mayListGateways = (ctx: Ctx, row: IntegrationRow | undefined): row is IntegrationRow =>
  row !== undefined &&
  [accountScopes.read, gatewayScopes.read].some((scope) => holds(ctx.caller, scope, onAccount(row)))

const idsIn = (names: string[]) => names.filter((name) => /^\d{1,9}$/.test(name)).map(Number)

export function visibleApps(ctx: Ctx): Visibility {
  const appNames = visibleResources(ctx.caller, appScopes.read, ctx.tenantId, 'application-')
  const ids = visibleResources(ctx.caller, appScopes.read, ctx.tenantId, 'net-app-integration-')
  return appNames === 'all' || ids === 'all' ? 'all' : { appNames, ids: idsIn(ids) }
}

export function visibleAccounts(ctx: Ctx): number[] | null {
  const ids = visibleResources(ctx.caller, accountScopes.read, ctx.tenantId, 'net-account-integration-')
  return ids === 'all' ? null : idsIn(ids)
}

/** Returns the ids of the integration's devices that the caller may read; null means all. */
export function visibleDevices(ctx: Ctx, app: AppIntegrationRow): number[] | null {
  if (holds(ctx.caller, deviceScopes.read, onApp(app))) return null
  const ids = visibleResources(ctx.caller, deviceScopes.read, app.tenantId, 'net-device-integration-')
  return ids === 'all' ? null : idsIn(ids)
}

export function visibleGateways(ctx: Ctx, account: IntegrationRow): number[] | null {
  if (holds(ctx.caller, gatewayScopes.read, onAccount(account))) return null
  const ids = visibleResources(ctx.caller, gatewayScopes.read, account.tenantId, 'net-gateway-integration-')
  return ids === 'all' ? null : idsIn(ids)
}

/**
 * Checks that the caller may create an integration for the application. Throws 403 without the scope, and 400 if the application is
 * unknown.
 */
export async function requireApplication({ applications }: Pick<Deps, 'applications'>, ctx: Ctx, appName: string) {
  const scope = appScopes.create
  // The permission is checked first. A caller that cannot create integrations anywhere therefore cannot find out which applications exist.
  if (!holdsSomewhere(ctx.caller, scope)) throw Forbidden({ scope, resource: tenantSystem })
  const application = onApplication(ctx.tenantId, appName)
  const mayRead = [scope, 'application:read'].some((one) => holds(ctx.caller, one, application))
  if (!mayRead || !(await applications.exists(ctx, { name: appName })))
    throw invalidField('appName', `there is no application ${appName}`)
  authorize(ctx, scope, application)
}

/**
 * Returns the version in which the endpoints of devices and gateways are registered. If `appName` is given, the version must belong to this
 * application.
 */
export async function requireVersion(
  { applications }: Pick<Deps, 'applications'>,
  ctx: Ctx,
  given: { tenantId: string; appVersionName: string; appName?: string; scope: string },
): Promise<ApplicationVersionRef> {
  const version = await applications.findVersion(given.appVersionName)
  const problem = () => invalidField('appVersionName', `there is no application version ${given.appVersionName}`)
  if (!version || version.tenantId !== given.tenantId) throw problem()
  if (given.appName !== undefined && version.applicationName !== given.appName)
    throw invalidField('appVersionName', `expected a version of application ${given.appName}`)
  const application = onApplication(version.tenantId, version.applicationName)
  const mayRead = ['application:read', given.scope].some((scope) => holds(ctx.caller, scope, application))
  if (given.appName === undefined && !mayRead) throw problem()
  return version
}

/** Grants the creator of an object every scope on it, unless the creator already has these scopes on a higher resource. */
export async function grantToCreator(
  { identity }: Pick<Deps, 'identity'>,
  sql: Sql,
  ctx: Ctx,
  resource: { name: string; above: Resource; scopes: string[] },
) {
  if (resource.scopes.every((scope) => holds(ctx.caller, scope, resource.above))) return
  await identity.grantCreator(sql, ctx, resource.name)
}

export const aboveDevice = onApp
export const aboveGateway = onAccount
