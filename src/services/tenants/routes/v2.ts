import type { Identity } from '../../../identity/contract.ts'
import { authorize, type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { etagOf, notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onPlatform } from '../../../kernel/permissions.ts'
import type { CatalogueService } from '../catalogue-service.ts'
import { catalogueOf } from '../catalogues.ts'
import { SecretNotHeld, TenantTaken } from '../errors.ts'
import * as schemas from '../schemas/v2.ts'
import type { TenantChange } from '../service/changes.ts'
import { onlyVisibleTenant, type TenantsService } from '../service.ts'
import { asV2 } from '../views.ts'
import { noStore } from './no-store.ts'

const updateScope = 'identity:tenant:update'

export interface V2Deps {
  tenants: TenantsService
  catalogues: CatalogueService
  identity: Identity
  secrets: Kit['secrets']
}

const read = { scope: 'identity:tenant:read', on: 'tenant' } as const

export function tenantRoutes(http: Http, { tenants, catalogues }: V2Deps) {
  http.get('/tenants', { schema: schemas.listTenants, config: read }, async ({ ctx, query }) => {
    const { offset, limit, sort_by: by, sort_order: order, tenant_id: tenantId, name, admin, search } = query
    const page = await tenants.list(
      { onlyTenant: onlyVisibleTenant(ctx), tenantId: tenantId || undefined, name, admin, search },
      { by, descending: order === 'desc' },
      windowOf(query),
    )
    return { count: page.count, results: page.tenants.map(asV2), limit, offset }
  })

  http.post(
    '/tenants',
    { schema: schemas.createTenant, config: { scope: 'identity:tenant:create', on: 'platform' } },
    async (request, reply) => {
      const { body } = request
      const idpServer = body.idp_server ?? body.keycloak_server
      const registered = await tenants.register({
        tenantId: body.tenant_id,
        name: body.name,
        loginTheme: body.login_theme,
        subscriptionType: body.subscription_type ?? 'TRIAL',
        analyticsEnabled: body.analytics_enabled ?? body.opendistro_enabled,
        ...(await packageOf(catalogues, body.package_type)),
        ...(idpServer !== undefined && { idpServer }),
        admin: {
          username: body.admin.username,
          email: body.admin.email,
          firstName: body.admin.first_name,
          lastName: body.admin.last_name,
          password: body.admin.password,
        },
      })
      if (!registered) throw TenantTaken({ tenantId: body.tenant_id ?? body.name })
      const { tenant, generatedPassword } = registered
      const shown = asV2(tenant)
      return noStore(reply)
        .code(202)
        .header('location', http.link(request, `/tenants/${tenant.id}`))
        .send({ ...shown, admin: { ...shown.admin, ...(generatedPassword && { password: generatedPassword }) } })
    },
  )

  http.get(
    '/tenants/:tenant_pk',
    { schema: schemas.readTenant, config: read },
    async ({ ctx, params, headers }, reply) => {
      const tenant = await tenants.findVisible(ctx, params.tenant_pk)
      const etag = etagOf(tenant)
      reply.header('etag', etag)
      return notModified(headers, etag) ? reply.code(304).send() : reply.send(asV2(tenant))
    },
  )

  http.put(
    '/tenants/:tenant_pk',
    { schema: schemas.changeTenant, config: { scope: updateScope, on: 'tenant' } },
    async ({ ctx, params, body, headers }, reply) => {
      const tenant = await tenants.findVisible(ctx, params.tenant_pk, updateScope)
      // A tenant may change its own name and theme. Package, subscription and status require the scope on the platform.
      if (body.package_type ?? body.subscription_type ?? body.status) authorize(ctx, updateScope, onPlatform)
      // v2 returns DISABLED as SUSPENDED, so a client that sends back the status that it got changes nothing.
      const status = body.status === asV2(tenant).status ? undefined : body.status
      const change: TenantChange = {
        name: body.name,
        loginTheme: body.login_theme,
        subscriptionType: body.subscription_type,
        status,
        ...(await packageOf(catalogues, body.package_type)),
      }
      const changed = await tenants.update(tenant.tenantId, change, {
        ifMatch: headers['if-match'],
        etag: etagOf,
      })
      return reply.header('etag', etagOf(changed)).send(asV2(changed))
    },
  )

  http.delete(
    '/tenants/:tenant_pk',
    { schema: schemas.removeTenant, config: { scope: 'identity:tenant:delete', on: 'platform' } },
    async ({ params, headers }, reply) => {
      const tenant = await tenants.findById(params.tenant_pk)
      await tenants.remove(tenant.tenantId, { ifMatch: headers['if-match'], etag: etagOf })
      return reply.code(204).send()
    },
  )
}

export function credentialRoutes(http: Http, { tenants, identity, secrets }: V2Deps) {
  http.get(
    '/tenants/:tenant_pk/credentials',
    { schema: schemas.readCredentials, config: read },
    async ({ ctx, params }, reply) => {
      const tenant = await tenants.findVisible(ctx, params.tenant_pk)
      if (!(await identity.mayActAs(ctx, [tenant.tenantId])).has(tenant.tenantId))
        throw SecretNotHeld({ clientId: tenant.clientBackendId })
      const realm = await identity.realm(tenant.tenantId)
      if (!realm) throw NotFound({ what: `Tenant ${params.tenant_pk}` })
      const objectstoreSecret = secrets.open(tenant.objectstoreSecretSealed)
      noStore(reply)
      return {
        id: tenant.id,
        client_backend_id: tenant.clientBackendId,
        client_backend_secret: realm.backendClientSecret,
        client_frontend_id: tenant.clientFrontendId,
        client_frontentd_id: tenant.clientFrontendId,
        issuer: realm.issuer,
        objectstore_secret: objectstoreSecret,
        minio_secret: objectstoreSecret,
      }
    },
  )
}

export function listRoutes(http: Http, catalogues: CatalogueService) {
  const anybody = { scope: 'authenticated' }
  const everything = { offset: 0, limit: null }
  const servers = catalogueOf('idp_servers')
  const packages = catalogueOf('package_types')

  for (const { path, list, read } of schemas.idpServers) {
    http.get(path, { schema: list, config: anybody }, () => catalogues.list(servers, everything))
    http.get(`${path}/:pk`, { schema: read, config: anybody }, ({ params }) => catalogues.find(servers, params.pk))
  }
  http.get('/packages-types', { schema: schemas.listPackageTypes, config: anybody }, () =>
    catalogues.list(packages, everything),
  )
  http.get('/packages-types/:pk', { schema: schemas.readPackageType, config: anybody }, ({ params }) =>
    catalogues.find(packages, params.pk),
  )
  http.get(
    '/tenants-subscriptions',
    { schema: schemas.listSubscriptions, config: { scope: 'identity:tenant:read', on: 'tenant' } },
    async ({ ctx, query }) => {
      const { offset, limit } = query
      const page = await catalogues.subscriptionsOf(subscriber(ctx, query.tenant_id), windowOf(query))
      return { ...page, limit, offset }
    },
  )
}

/** Finds the id of a package by the name that v2 uses. */
async function packageOf(catalogues: CatalogueService, name: string | undefined): Promise<{ packageType?: number }> {
  if (name === undefined) return {}
  const packageType = await catalogues.packageNamed(name)
  if (packageType === undefined) throw invalidField('package_type', `Package type ${name} does not exist`)
  return { packageType }
}

const subscriber = (ctx: Ctx, tenantId: string) => requireTenantAccess(ctx, tenantId, 'identity:tenant:read')
