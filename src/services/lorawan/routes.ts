import { notModified } from '../../kernel/etag.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import * as accounts from './schemas/accounts.ts'
import * as apps from './schemas/app-integrations.ts'
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

function appRoutes(http: Http, { apps: operations }: LorawanService) {
  const one = '/integrations/:appIntegrationId'
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
  http.get(
    one,
    { schema: apps.getAppIntegration, config: scope('net-app-integration:read') },
    async ({ ctx, params, headers }, reply) =>
      sendIfChanged(headers, reply, await operations.get(ctx, params.appIntegrationId)),
  )
  http.patch(
    one,
    { schema: apps.patchAppIntegration, config: scope('net-app-integration:update') },
    async ({ ctx, params, body, headers }, reply) => {
      const { etag, view } = await operations.patch(ctx, params.appIntegrationId, body, headers['if-match'])
      return reply.header('etag', etag).send(view)
    },
  )
  http.delete(
    one,
    { schema: apps.deleteAppIntegration, config: scope('net-app-integration:delete') },
    async ({ ctx, params, headers }, reply) => {
      await operations.delete(ctx, params.appIntegrationId, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    `${one}/status`,
    { schema: apps.updateAppIntegrationStatus, config: scope('net-app-integration:update') },
    async ({ ctx, params, body }, reply) => {
      await operations.setStatus(ctx, params.appIntegrationId, body.status)
      return reply.code(204).send()
    },
  )
  http.get(
    `${one}/net-devices`,
    { schema: apps.listNetDevices, config: scope('net-app-integration:read') },
    ({ ctx, params }) => operations.netDevices(ctx, params.appIntegrationId),
  )
}

function deviceRoutes(http: Http, { devices: operations }: LorawanService) {
  const all = '/integrations/:appIntegrationId/devices'
  const one = `${all}/:deviceIntegrationId`
  const create = {
    schema: devices.createDevices,
    config: {
      ...scope('net-app-integration:net-device-integration:create'),
      anyJson: 'inside' as const,
    },
  }
  http.post(all, create, async ({ ctx, params, body }, reply) =>
    reply.code(201).send(await operations.create(ctx, params.appIntegrationId, body)),
  )
  http.get(
    all,
    { schema: devices.listDevices, config: scope('net-device-integration:read') },
    ({ ctx, params, query }) => operations.list(ctx, params.appIntegrationId, query),
  )
  http.get(
    one,
    { schema: devices.getDevice, config: scope('net-device-integration:read') },
    async ({ ctx, params, headers }, reply) => sendIfChanged(headers, reply, await operations.get(ctx, params)),
  )
  http.patch(
    one,
    { schema: devices.patchDevice, config: scope('net-device-integration:update') },
    async ({ ctx, params, body, headers }, reply) => {
      const { etag, view } = await operations.patch(ctx, params, body, headers['if-match'])
      return reply.header('etag', etag).send(view)
    },
  )
  http.delete(
    one,
    { schema: devices.deleteDevice, config: scope('net-device-integration:delete') },
    async ({ ctx, params, query, headers }, reply) => {
      await operations.delete(ctx, params, query.deleteEndpoint === true, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    `${one}/status`,
    { schema: devices.updateDeviceStatus, config: scope('net-device-integration:update') },
    async ({ ctx, params, body }, reply) => {
      await operations.setStatus(ctx, params, body.status)
      return reply.code(204).send()
    },
  )
}

function accountRoutes(http: Http, { accounts: operations }: LorawanService) {
  const one = '/account-integrations/:accountIntegrationId'
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
  http.get(
    one,
    { schema: accounts.getAccount, config: scope('net-account-integration:read') },
    async ({ ctx, params, headers }, reply) =>
      sendIfChanged(headers, reply, await operations.get(ctx, params.accountIntegrationId)),
  )
  http.patch(
    one,
    { schema: accounts.patchAccount, config: scope('net-account-integration:update') },
    async ({ ctx, params, body, headers }, reply) => {
      const { etag, view } = await operations.patch(ctx, params.accountIntegrationId, body, headers['if-match'])
      return reply.header('etag', etag).send(view)
    },
  )
  http.delete(
    one,
    { schema: accounts.deleteAccount, config: scope('net-account-integration:delete') },
    async ({ ctx, params, headers }, reply) => {
      await operations.delete(ctx, params.accountIntegrationId, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    `${one}/status`,
    { schema: accounts.updateAccountStatus, config: scope('net-account-integration:update') },
    async ({ ctx, params, body }, reply) => {
      await operations.setStatus(ctx, params.accountIntegrationId, body.status)
      return reply.code(204).send()
    },
  )
}

function gatewayRoutes(http: Http, { gateways: operations }: LorawanService) {
  const all = '/account-integrations/:accountIntegrationId/gateways'
  const one = `${all}/:gatewayIntegrationId`
  const create = {
    schema: gateways.createGateways,
    config: {
      ...scope('net-account-integration:net-gateway-integration:create'),
      anyJson: 'inside' as const,
    },
  }
  http.post(all, create, async ({ ctx, params, body }, reply) =>
    reply.code(201).send(await operations.create(ctx, params.accountIntegrationId, body)),
  )
  http.get(
    all,
    { schema: gateways.listGateways, config: scope('net-gateway-integration:read') },
    ({ ctx, params, query }) => operations.list(ctx, params.accountIntegrationId, query),
  )
  http.get(
    one,
    { schema: gateways.getGateway, config: scope('net-gateway-integration:read') },
    async ({ ctx, params, headers }, reply) => sendIfChanged(headers, reply, await operations.get(ctx, params)),
  )
  http.patch(
    one,
    { schema: gateways.patchGateway, config: scope('net-gateway-integration:update') },
    async ({ ctx, params, body, headers }, reply) => {
      const { etag, view } = await operations.patch(ctx, params, body, headers['if-match'])
      return reply.header('etag', etag).send(view)
    },
  )
  http.delete(
    one,
    { schema: gateways.deleteGateway, config: scope('net-gateway-integration:delete') },
    async ({ ctx, params, query, headers }, reply) => {
      const { deleteEndpoint = false, deregisterOnNet = false } = query
      await operations.delete(ctx, params, { deleteEndpoint, deregisterOnNet }, headers['if-match'])
      return reply.code(204).send()
    },
  )
  http.put(
    `${one}/status`,
    { schema: gateways.updateGatewayStatus, config: scope('net-gateway-integration:update') },
    async ({ ctx, params, body }, reply) => {
      await operations.setStatus(ctx, params, body.status)
      return reply.code(204).send()
    },
  )
}
