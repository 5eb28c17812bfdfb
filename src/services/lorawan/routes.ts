import type { Ctx } from '../../kernel/contract.ts'
import { notModified } from '../../kernel/etag.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import type { OperationSchema, Static, TSchema } from '../../kernel/schema.ts'
import * as accounts from './schemas/accounts.ts'
import * as apps from './schemas/app-integrations.ts'
import type { statusBody } from './schemas/common.ts'
import * as devices from './schemas/devices.ts'
import * as gateways from './schemas/gateways.ts'
import type { LorawanService } from './service.ts'

const scope = (name: string) => ({ scope: name })

function sendIfChanged(
  headers: { 'if-none-match'?: string | undefined },
  reply: Reply,
  { etag, view }: { etag: string; view: object },
) {
  reply.header('etag', etag)
  return notModified(headers, etag) ? reply.code(304).send() : reply.send(view)
}

export function routes(http: Http, service: LorawanService) {
  appRoutes(http, service)
  deviceRoutes(http, service)
  accountRoutes(http, service)
  gatewayRoutes(http, service)
}

type WithParams<P> = OperationSchema & { params: P }

interface ItemSchemas<P, B> {
  get: WithParams<P>
  patch: WithParams<P> & { body: B }
  delete: WithParams<P>
  status: WithParams<P> & { body: typeof statusBody }
}

type Versioned = Promise<{ etag: string; view: object }>

interface ItemOperations<P, B> {
  get(ctx: Ctx, params: P): Versioned
  patch(ctx: Ctx, params: P, body: B, ifMatch: string | undefined): Versioned
  delete(ctx: Ctx, params: P, query: Record<string, unknown>, ifMatch: string | undefined): Promise<void>
  setStatus(ctx: Ctx, params: P, status: Static<typeof statusBody>['status']): Promise<void>
}

/**
 * Declares the routes that read, change, delete, suspend and resume one integration, device or gateway. `name` is the noun in the scopes of
 * these routes.
 */
function itemRoutes<P extends TSchema, B extends TSchema>(
  http: Http,
  path: string,
  name: string,
  schemas: ItemSchemas<P, B>,
  operations: ItemOperations<Static<P>, Static<B>>,
) {
  http.get(path, { schema: schemas.get, config: scope(`${name}:read`) }, async ({ ctx, params, headers }, reply) =>
    sendIfChanged(headers, reply, await operations.get(ctx, params as Static<P>)),
  )
  http.patch(
    path,
    // A formatter may have 65,000 characters, so the body may be larger than usual.
    { schema: schemas.patch, config: { ...scope(`${name}:update`), bodyBytesMax: bodyLimitBytes } },
    async ({ ctx, params, body, headers }, reply) => {
      const changed = await operations.patch(ctx, params as Static<P>, body as Static<B>, headers['if-match'])
      return reply.header('etag', changed.etag).send(changed.view)
    },
  )
  http.delete(
    path,
    { schema: schemas.delete, config: scope(`${name}:delete`) },
    async ({ ctx, params, query, headers }, reply) => {
      const parameters = (query ?? {}) as Record<string, unknown>
      await operations.delete(ctx, params as Static<P>, parameters, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    `${path}/status`,
    { schema: schemas.status, config: scope(`${name}:update`) },
    async ({ ctx, params, body }, reply) => {
      await operations.setStatus(ctx, params as Static<P>, (body as Static<typeof statusBody>).status)
      return reply.code(204).send()
    },
  )
}

function appRoutes(http: Http, { apps: operations }: LorawanService) {
  const integrationPath = '/integrations/:appIntegrationId'
  const create = { schema: apps.createAppIntegration, config: scope('application:net-app-integration:create') }
  http.post('/integrations', create, async (request, reply) => {
    const { etag, ...view } = await operations.create(request.ctx, request.body)
    const location = http.link(request, `/integrations/${view.id}`)
    return reply.code(201).header('location', location).header('etag', etag).send(view)
  })
  http.get(
    '/integrations',
    { schema: apps.listAppIntegrations, config: scope('net-app-integration:read') },
    ({ ctx, query }) => operations.list(ctx, query),
  )
  const schemas = {
    get: apps.getAppIntegration,
    patch: apps.patchAppIntegration,
    delete: apps.deleteAppIntegration,
    status: apps.updateAppIntegrationStatus,
  }
  itemRoutes(http, integrationPath, 'net-app-integration', schemas, {
    get: (ctx, { appIntegrationId }) => operations.get(ctx, appIntegrationId),
    patch: (ctx, { appIntegrationId }, body, ifMatch) => operations.patch(ctx, appIntegrationId, body, ifMatch),
    delete: (ctx, { appIntegrationId }, _query, ifMatch) => operations.delete(ctx, appIntegrationId, ifMatch),
    setStatus: (ctx, { appIntegrationId }, status) => operations.setStatus(ctx, appIntegrationId, status),
  })
  http.get(
    `${integrationPath}/net-devices`,
    { schema: apps.listNetDevices, config: scope('net-app-integration:read') },
    ({ ctx, params }) => operations.netDevices(ctx, params.appIntegrationId),
  )
}

function deviceRoutes(http: Http, { devices: operations }: LorawanService) {
  const devicesPath = '/integrations/:appIntegrationId/devices'
  const create = {
    schema: devices.createDevices,
    config: {
      ...scope('net-app-integration:net-device-integration:create'),
      anyJson: 'inside' as const,
    },
  }
  http.post(devicesPath, create, async ({ ctx, params, body }, reply) =>
    reply.code(201).send(await operations.create(ctx, params.appIntegrationId, body)),
  )
  http.get(
    devicesPath,
    { schema: devices.listDevices, config: scope('net-device-integration:read') },
    ({ ctx, params, query }) => operations.list(ctx, params.appIntegrationId, query),
  )
  const schemas = {
    get: devices.getDevice,
    patch: devices.patchDevice,
    delete: devices.deleteDevice,
    status: devices.updateDeviceStatus,
  }
  itemRoutes(http, `${devicesPath}/:deviceIntegrationId`, 'net-device-integration', schemas, {
    ...operations,
    delete: (ctx, params, { deleteEndpoint }, ifMatch) =>
      operations.delete(ctx, params, deleteEndpoint === true, ifMatch),
  })
}

function accountRoutes(http: Http, { accounts: operations }: LorawanService) {
  const create = {
    schema: accounts.createAccount,
    config: { ...scope('tenant:net-account-integration:create'), on: 'tenant' as const },
  }
  http.post('/account-integrations', create, async (request, reply) => {
    const { etag, view } = await operations.create(request.ctx, request.body)
    const location = http.link(request, `/account-integrations/${view.id}`)
    return reply.code(201).header('location', location).header('etag', etag).send(view)
  })
  http.get(
    '/account-integrations',
    { schema: accounts.listAccounts, config: scope('net-account-integration:read') },
    ({ ctx, query }) => operations.list(ctx, query),
  )
  const schemas = {
    get: accounts.getAccount,
    patch: accounts.patchAccount,
    delete: accounts.deleteAccount,
    status: accounts.updateAccountStatus,
  }
  itemRoutes(http, '/account-integrations/:accountIntegrationId', 'net-account-integration', schemas, {
    get: (ctx, { accountIntegrationId: id }) => operations.get(ctx, id),
    patch: (ctx, { accountIntegrationId: id }, body, ifMatch) => operations.patch(ctx, id, body, ifMatch),
    delete: (ctx, { accountIntegrationId: id }, _query, ifMatch) => operations.delete(ctx, id, ifMatch),
    setStatus: (ctx, { accountIntegrationId: id }, status) => operations.setStatus(ctx, id, status),
  })
}

function gatewayRoutes(http: Http, { gateways: operations }: LorawanService) {
  const gatewaysPath = '/account-integrations/:accountIntegrationId/gateways'
  const create = {
    schema: gateways.createGateways,
    config: {
      ...scope('net-account-integration:net-gateway-integration:create'),
      anyJson: 'inside' as const,
    },
  }
  http.post(gatewaysPath, create, async ({ ctx, params, body }, reply) =>
    reply.code(201).send(await operations.create(ctx, params.accountIntegrationId, body)),
  )
  http.get(
    gatewaysPath,
    { schema: gateways.listGateways, config: scope('net-gateway-integration:read') },
    ({ ctx, params, query }) => operations.list(ctx, params.accountIntegrationId, query),
  )
  const schemas = {
    get: gateways.getGateway,
    patch: gateways.patchGateway,
    delete: gateways.deleteGateway,
    status: gateways.updateGatewayStatus,
  }
  itemRoutes(http, `${gatewaysPath}/:gatewayIntegrationId`, 'net-gateway-integration', schemas, {
    ...operations,
    delete: (ctx, params, { deleteEndpoint, deregisterOnNet }, ifMatch) =>
      operations.delete(
        ctx,
        params,
        { deleteEndpoint: deleteEndpoint === true, deregisterOnNet: deregisterOnNet === true },
        ifMatch,
      ),
  })
}
