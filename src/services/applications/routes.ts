import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { sendDocument, sendText } from '../../kernel/http/send.ts'
import { listOf, narrowingListOf } from '../../kernel/schema.ts'
import { NoServiceInstance } from './errors.ts'
import { representInstances } from './instances/representation.ts'
import * as schemas from './schemas.ts'
import type { ApplicationsService } from './service.ts'

const authenticated = { scope: 'authenticated' }
const read = { scope: 'application:read' }
const update = { scope: 'application:update' }
const remove = { scope: 'application:delete' }
const create = {
  scope: 'tenant:application:create',
  on: 'tenant',
  or: { scope: 'platform:application:create', on: 'platform' },
} as const
const readPlatform = { scope: 'platform:application:read', on: 'platform' } as const
const loadPlatform = { scope: 'platform:application:update', on: 'platform', anyJson: true } as const
const readTenant = {
  scope: 'tenant:configuration:read',
  on: 'tenant',
  or: { scope: 'platform:tenant:configuration:read', on: 'platform' },
} as const
const updateTenant = {
  scope: 'tenant:configuration:update',
  on: 'tenant',
  or: { scope: 'platform:tenant:configuration:update', on: 'platform' },
  anyJson: true,
} as const
/** Configurations may contain any JSON. */
const configure = { ...update, anyJson: true }

/** Returns the fields that may be changed. Other fields of the body are ignored. */
const namingOf = ({ displayName, description }: { displayName?: string; description?: string }) => ({
  ...(displayName !== undefined && { displayName }),
  ...(description !== undefined && { description }),
})

export function routes(http: Http, service: ApplicationsService) {
  instanceRoutes(http, service)
  applicationRoutes(http, service)
  versionRoutes(http, service)
  configurationRoutes(http, service)
}

function instanceRoutes(http: Http, { instances }: ApplicationsService) {
  http.get('/service-instances', { schema: schemas.listInstances, config: authenticated }, ({ query }, reply) =>
    reply.send(representInstances(instances, undefined, listOf(query.include))),
  )

  http.get(
    '/service-instances/:serviceInstanceName',
    { schema: schemas.readInstance, config: authenticated },
    ({ params, query }, reply) => {
      const name = params.serviceInstanceName
      const [instance] = representInstances(instances, [name], listOf(query.include))
      if (!instance) throw NoServiceInstance({ name })
      return reply.send(instance)
    },
  )
}

function applicationRoutes(http: Http, { applications, exportAll, instances: allInstances }: ApplicationsService) {
  http.post(
    '/applications',
    { schema: schemas.createApplication, config: { ...create, bodyOptional: true } },
    async (request, reply) => {
      const { body, query } = request
      const name = await applications.create(request.ctx, {
        ...namingOf(body),
        ...(body.name !== undefined && { name: body.name }),
        ...query,
      })
      return reply
        .code(201)
        .header('location', http.link(request, `/applications/${name}`))
        .send()
    },
  )

  http.get('/applications', { schema: schemas.listApplications, config: read }, async (request, reply) =>
    sendDocument(request, reply, await applications.list(request.ctx, request.query)),
  )

  http.get('/applications/:appName', { schema: schemas.readApplication, config: read }, async (request, reply) => {
    const application = await applications.read(request.ctx, { ...request.query, name: request.params.appName })
    return sendDocument(request, reply, application)
  })

  http.patch(
    '/applications/:appName',
    { schema: schemas.updateApplication, config: update },
    async ({ ctx, params, body, headers }, reply) => {
      await applications.update(ctx, params.appName, namingOf(body), headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.delete(
    '/applications/:appName',
    { schema: schemas.deleteApplication, config: remove },
    async ({ ctx, params, headers }, reply) => {
      await applications.delete(ctx, params.appName, headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.get('/bulk', { schema: schemas.readBulk, config: readPlatform }, (request, reply) => {
    const { serviceInstanceName, include, appName } = request.query
    const instances = narrowingListOf(serviceInstanceName)
    const pieces = exportAll({
      serviceInstances: representInstances(allInstances, instances, listOf(include)),
      instances,
      applicationNames: narrowingListOf(appName),
    })
    return sendDocument(request, reply, pieces)
  })
}

function versionRoutes(http: Http, { versions }: ApplicationsService) {
  const versionsPath = '/applications/:appName/app-versions'
  const versionPath = `${versionsPath}/:appVersionName`
  const namesOf = (params: { appName: string; appVersionName: string }) => ({
    applicationName: params.appName,
    versionName: params.appVersionName,
  })

  http.post(versionsPath, { schema: schemas.createVersion, config: update }, async (request, reply) => {
    const { body, params } = request
    const name = await versions.create(request.ctx, {
      ...namingOf(body),
      nameSuffix: body.nameSuffix,
      applicationName: params.appName,
    })
    return reply
      .code(201)
      .header('location', http.link(request, `/applications/${params.appName}/app-versions/${name}`))
      .send()
  })

  http.get(versionsPath, { schema: schemas.listVersions, config: read }, async (request, reply) =>
    sendDocument(request, reply, await versions.list(request.ctx, request.params.appName)),
  )

  http.get(versionPath, { schema: schemas.readVersion, config: read }, async (request, reply) =>
    sendDocument(request, reply, await versions.read(request.ctx, namesOf(request.params))),
  )

  http.patch(
    versionPath,
    { schema: schemas.updateVersion, config: update },
    async ({ ctx, params, body, headers }, reply) => {
      await versions.update(ctx, namesOf(params), namingOf(body), headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.delete(
    versionPath,
    { schema: schemas.deleteVersion, config: remove },
    async ({ ctx, params, headers }, reply) => {
      await versions.delete(ctx, namesOf(params), headers['if-match'])
      return reply.code(204).send()
    },
  )
}

function configurationRoutes(http: Http, { configurations }: ApplicationsService) {
  http.post('/app-configs', { schema: schemas.loadConfigurations, config: loadPlatform }, async (request, reply) => {
    await configurations.load(request.body)
    // The response repeats the body as it was sent, possibly with `kaa` instead of `platform`.
    const created = reply.code(201).header('location', http.link(request, '/app-configs'))
    return sendText(created, JSON.stringify(request.body))
  })

  http.get('/app-configs', { schema: schemas.readAllConfigurations, config: readPlatform }, (request, reply) =>
    sendDocument(
      request,
      reply,
      configurations.exportAll({ instances: narrowingListOf(request.query.serviceInstanceName) }),
    ),
  )

  // An application and a version of an application have the same three operations.
  const levels = [
    ['/app-configs/applications/:appName', schemas.applicationConfigurations],
    ['/app-configs/applications/:appName/app-versions/:appVersionName', schemas.versionConfigurations],
  ] as const
  const namesOf = (params: { appName: string; appVersionName?: string }) => ({
    applicationName: params.appName,
    versionName: params.appVersionName,
  })
  for (const [path, schema] of levels) {
    http.put(path, { schema: schema.replace, config: configure }, async ({ ctx, params, body, headers }, reply) => {
      await configurations.replace(ctx, namesOf(params), body, headers['if-match'])
      return reply.code(204).send()
    })

    http.get(path, { schema: schema.read, config: read }, async (request, reply) => {
      const instances = narrowingListOf(request.query.serviceInstanceName)
      return sendDocument(
        request,
        reply,
        await configurations.read(request.ctx, { ...namesOf(request.params), instances }),
      )
    })

    http.patch(
      path,
      { schema: schema.merge, config: configure },
      async ({ ctx, params, query, body, headers }, reply) => {
        const instances = narrowingListOf(query.serviceInstanceName)
        await configurations.merge(ctx, { ...namesOf(params), instances }, body, headers['if-match'])
        return reply.code(204).send()
      },
    )
  }

  const tenantQueryOf = (query: { tenantId?: string; serviceInstanceName?: string | string[] }) => ({
    tenantId: query.tenantId,
    instances: narrowingListOf(query.serviceInstanceName),
  })

  http.put(
    '/tenant-configs',
    { schema: schemas.replaceTenantConfigurations, config: updateTenant },
    async ({ ctx, query, body, headers }, reply) => {
      await configurations.replaceForTenant(ctx, tenantQueryOf(query), body, headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.get(
    '/tenant-configs',
    { schema: schemas.readTenantConfigurations, config: readTenant },
    async (request, reply) =>
      sendDocument(request, reply, await configurations.readForTenant(request.ctx, tenantQueryOf(request.query))),
  )
}

/** API of the attribute dictionary (document 3, 2.8): the configuration of its instance without the envelope. */
export function attributeRoutes(http: Http, { configurations }: ApplicationsService) {
  const path = '/app-configs/applications/:appName/app-versions/:appVersionName'
  const namesOf = ({ appName, appVersionName }: { appName: string; appVersionName: string }) => ({
    instance: 'adx',
    applicationName: appName,
    versionName: appVersionName,
  })

  http.put(
    path,
    { schema: schemas.replaceAttributes, config: configure },
    async ({ ctx, params, body, raw, headers }, reply) => {
      if (raw.emptyBody) throw invalidField('body', 'expected a JSON value')
      await configurations.replaceOne(ctx, namesOf(params), body, headers['if-match'])
      return reply.code(204).send()
    },
  )

  http.get(path, { schema: schemas.readAttributes, config: read }, async (request, reply) =>
    sendDocument(request, reply, await configurations.readOne(request.ctx, namesOf(request.params))),
  )
}
