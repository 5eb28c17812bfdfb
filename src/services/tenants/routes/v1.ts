import type { Identity } from '../../../identity/contract.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { etagOf, notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { windowOf } from '../../../kernel/paging.ts'
import type { SubscriptionType } from '../schemas/common.ts'
import * as schemas from '../schemas/v1.ts'
import type { TenantChange } from '../service/changes.ts'
import type { Registration } from '../service/registration.ts'
import type { TenantsService } from '../service.ts'
import type { Tenant, TenantChoices } from '../tenant.ts'
import { asV1, subscriptionOf } from '../views.ts'
import { noStore } from './no-store.ts'

const on = 'platform'

export function tenantRoutes(http: Http, deps: { tenants: TenantsService; identity: Identity; idps: Idps }) {
  const { tenants, identity, idps } = deps

  http.get(
    '/tenants',
    { schema: schemas.listTenants, config: { scope: 'platform:tenant:read', on } },
    async ({ ctx, query }, reply) => {
      const page = await tenants.list(
        {
          tenantId: query.realm_name || undefined,
          status: query.status,
          analyticsEnabled: switchOf('analytics_enabled', query.analytics_enabled ?? query.opendistro_enabled),
          subscriptionTypes: subscriptionsOf(query.subscription_type),
        },
        { by: 'created', descending: false },
        windowOf(query),
      )
      const tenantIds = page.tenants.map(({ tenantId }) => tenantId)
      const [realms, shown] = [await identity.realms(tenantIds), await identity.mayActAs(ctx, tenantIds)]
      const results = page.tenants.map((tenant) =>
        asV1(tenant, realms.get(tenant.tenantId), shown.has(tenant.tenantId)),
      )
      noStore(reply)
      return { count: page.count, next: null, previous: null, results }
    },
  )

  http.post(
    '/tenants',
    { schema: schemas.registerTenant, config: { scope: 'platform:tenant:create', on } },
    async (request, reply) => {
      const registered = await tenants.register(await registrationOf(request.body, idps))
      // v1 has no 409, so a name that is taken is a 400 for the field.
      if (!registered) throw invalidField('realm_name', `Tenant ${request.body.realm_name} already exists`)
      const { tenant, generatedPassword } = registered
      return noStore(reply)
        .code(201)
        .header('location', http.link(request, `/tenants/${tenant.tenantId}`))
        .send({
          ...(await viewFor(request.ctx, tenant)),
          ...(generatedPassword && { user_password: generatedPassword }),
        })
    },
  )

  http.get(
    '/tenants/:tenantId',
    { schema: schemas.readTenant, config: { scope: 'platform:tenant:read', on } },
    async ({ ctx, params, headers }, reply) => {
      const tenant = await tenants.find(params.tenantId)
      const view = await viewFor(ctx, tenant)
      const etag = etagOf(tenant, view)
      noStore(reply).header('etag', etag)
      return notModified(headers, etag) ? reply.code(304).send() : reply.send(view)
    },
  )

  http.put(
    '/tenants/:tenantId',
    { schema: schemas.changeTenant, config: { scope: 'platform:tenant:update', on } },
    async ({ ctx, params, body, headers }, reply) => {
      if (body.realm_name !== undefined && body.realm_name !== params.tenantId)
        throw invalidField('realm_name', 'cannot be changed')
      const change = await changeOf(body, idps)
      // v1 returns TRIAL as RENEWAL, so a client that sends back the subscription that it got changes nothing.
      const { subscriptionType } = await tenants.find(params.tenantId)
      if (change.subscriptionType === subscriptionOf(subscriptionType)) change.subscriptionType = undefined
      const condition = await conditionOf(ctx, params.tenantId, headers)
      const tenant = await tenants.update(params.tenantId, change, condition)
      const view = await viewFor(ctx, tenant)
      return noStore(reply).header('etag', etagOf(tenant, view)).send(view)
    },
  )

  http.delete(
    '/tenants/:tenantId',
    { schema: schemas.removeTenant, config: { scope: 'platform:tenant:delete', on } },
    async ({ ctx, params, headers }, reply) => {
      await tenants.remove(params.tenantId, await conditionOf(ctx, params.tenantId, headers))
      return reply.code(204).send()
    },
  )

  /** Reads the realm of a tenant, and returns the function that converts the tenant for this caller. */
  async function viewerFor(ctx: Ctx, tenantId: string) {
    const realm = await identity.realm(tenantId)
    const showsSecret = (await identity.mayActAs(ctx, [tenantId])).has(tenantId)
    return (tenant: Tenant) => asV1(tenant, realm, showsSecret)
  }
  const viewFor = async (ctx: Ctx, tenant: Tenant) => (await viewerFor(ctx, tenant.tenantId))(tenant)

  /** The ETag covers the client secret, which is not part of the tenant. The realm is read before the tenant is locked. */
  async function conditionOf(ctx: Ctx, tenantId: string, headers: { 'if-match'?: string | undefined }) {
    const view = await viewerFor(ctx, tenantId)
    return { ifMatch: headers['if-match'], etag: (tenant: Tenant) => etagOf(tenant, view(tenant)) }
  }
}

/** Finds the identity provider for `idp_version`: true means the newest, false the first. */
export type Idps = (which: 'newest' | 'first') => Promise<number>

const registrationOf = async (body: schemas.RegistrationBody, idps: Idps): Promise<Registration> => ({
  ...(await changeOf(body, idps)),
  tenantId: body.realm_name,
  name: body.realm_name,
  subscriptionType: body.subscription_type,
  idpVersion: await idpVersionOf(body.idp_version ?? true, idps),
})

async function changeOf(body: schemas.ChangeBody, idps: Idps): Promise<TenantChange> {
  const idpServer = body.idp_server ?? body.keycloak_server
  const analyticsEnabled = body.analytics_enabled ?? body.opendistro_enabled
  return definedFields({
    realmTemplateVersion: body.realm_template_version,
    realmScopesVersion: body.realm_scopes_version,
    clientBackendVersion: body.client_backend_version,
    clientFrontendVersion: body.client_frontend_version,
    rolesVersion: body.roles_version,
    resourcesVersion: body.resources_version,
    userTemplate: body.user,
    userRoles: body.user_roles,
    packageType: body.package_type,
    subscriptionType: body.subscription_type,
    status: body.status,
    idpServer,
    analyticsEnabled,
    idpVersion: body.idp_version === undefined ? undefined : await idpVersionOf(body.idp_version, idps),
  })
}

const idpVersionOf = async (value: boolean | number, idps: Idps): Promise<TenantChoices['idpVersion']> =>
  typeof value === 'number' ? value : await idps(value ? 'newest' : 'first')

/** Removes undefined fields. */
const definedFields = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

/** Parses a boolean that the API documents as a string. */
function switchOf(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (/^(true|1)$/i.test(text)) return true
  if (/^(false|0)$/i.test(text)) return false
  throw invalidField(name, 'expected true or false')
}

/** Translates the filter. v1 returns TRIAL as RENEWAL, so RENEWAL finds tenants with TRIAL too. */
const subscriptionsOf = (shown: 'PERMANENT' | 'RENEWAL' | undefined): SubscriptionType[] | undefined => {
  if (shown === undefined) return undefined
  return shown === 'RENEWAL' ? ['RENEWAL', 'TRIAL'] : ['PERMANENT']
}
