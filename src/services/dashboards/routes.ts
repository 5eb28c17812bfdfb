import { notModified } from '../../kernel/etag.ts'
import type { Http, Reply } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { dashboardScopes } from './access.ts'
import { bodyBytesMax } from './limits.ts'
import * as schemas from './schemas.ts'
import { type DashboardsService, etagOfDashboard } from './service.ts'
import { etagOfTemplate, type Templates } from './templates.ts'
import type { DashboardRow, SummaryRow, TemplateRow, VersionRow, VersionSummaryRow } from './types.ts'

const onDashboard = (scope: string) => ({ scope, on: 'resource' }) as const
/** Options of routes whose body contains a definition: the payload of a command widget can be any JSON. */
const withContents = { anyJson: 'inside', bodyBytesMax } as const

const described = ({ description }: { description: string | null }) => (description === null ? {} : { description })

const summaryOf = (row: SummaryRow) => ({
  dashboardId: row.dashboardId,
  name: row.name,
  ...described(row),
  owner: { type: row.ownerType, id: row.ownerId, ...(row.ownerName !== null && { name: row.ownerName }) },
  version: row.version,
  createdDate: row.createdDate,
  updatedDate: row.updatedDate,
})

const versionOf = (row: VersionSummaryRow) => ({
  version: row.version,
  name: row.name,
  ...described(row),
  author: { type: row.authorType, id: row.authorId, ...(row.authorName !== null && { name: row.authorName }) },
  createdDate: row.createdDate,
})

/** Returns the JSON text of the fields and the definition, which is already JSON text. */
const withDefinition = (fields: object, definition: string) =>
  `${JSON.stringify(fields).slice(0, -1)},"definition":${definition}}`

const sendDashboard = (reply: Reply, row: DashboardRow) =>
  sendText(reply.header('etag', etagOfDashboard(row)), withDefinition(summaryOf(row), row.definition))

function sendTemplate(reply: Reply, row: TemplateRow) {
  const { appVersionName, applicationName, name, updatedDate } = row
  const fields = { appVersionName, applicationName, name, ...described(row), updatedDate }
  return sendText(reply.header('etag', etagOfTemplate(row)), withDefinition(fields, row.definition))
}

export function routes(http: Http, service: DashboardsService) {
  dashboardRoutes(http, service)
  versionRoutes(http, service)
  templateRoutes(http, service.templates)
}

function dashboardRoutes(http: Http, service: DashboardsService) {
  const dashboardPath = '/dashboards/:dashboardId'

  http.get(
    '/dashboards',
    { schema: schemas.listDashboards, config: onDashboard(dashboardScopes.read) },
    async ({ ctx, query }) => {
      const { total, rows } = await service.list(ctx, query)
      return { totalElements: total, content: rows.map(summaryOf) }
    },
  )

  http.post(
    '/dashboards',
    { schema: schemas.createDashboard, config: { scope: dashboardScopes.create, on: 'tenant', ...withContents } },
    async (request, reply) => {
      const row = await service.create(request.ctx, request.body)
      return sendDashboard(
        reply.code(201).header('location', http.link(request, `/dashboards/${row.dashboardId}`)),
        row,
      )
    },
  )

  http.get(
    dashboardPath,
    { schema: schemas.getDashboard, config: onDashboard(dashboardScopes.read) },
    async (request, reply) => {
      const row = await service.get(request.ctx, request.params.dashboardId)
      const etag = etagOfDashboard(row)
      return notModified(request.headers, etag)
        ? reply.header('etag', etag).code(304).send()
        : sendDashboard(reply, row)
    },
  )

  http.put(
    dashboardPath,
    { schema: schemas.updateDashboard, config: { ...onDashboard(dashboardScopes.update), ...withContents } },
    async ({ ctx, params, body, headers }, reply) =>
      sendDashboard(reply, await service.update(ctx, params.dashboardId, body, headers['if-match'])),
  )

  http.delete(
    dashboardPath,
    { schema: schemas.deleteDashboard, config: onDashboard(dashboardScopes.delete) },
    async ({ ctx, params, headers }, reply) => {
      await service.delete(ctx, params.dashboardId, headers['if-match'])
      return reply.code(204).send()
    },
  )
}

function versionRoutes(http: Http, service: DashboardsService) {
  const versionsPath = '/dashboards/:dashboardId/versions'

  http.get(
    versionsPath,
    { schema: schemas.listVersions, config: onDashboard(dashboardScopes.read) },
    async ({ ctx, params }) => ({
      content: (await service.versions(ctx, params.dashboardId)).map(versionOf),
    }),
  )

  http.get(
    `${versionsPath}/:version`,
    { schema: schemas.getVersion, config: onDashboard(dashboardScopes.read) },
    async ({ ctx, params }, reply) => {
      const row: VersionRow = await service.version(ctx, params.dashboardId, params.version)
      return sendText(reply, withDefinition(versionOf(row), row.definition))
    },
  )

  http.post(
    `${versionsPath}/:version/restore`,
    { schema: schemas.restoreVersion, config: onDashboard(dashboardScopes.update) },
    async ({ ctx, params, headers }, reply) =>
      sendDashboard(reply, await service.restore(ctx, params.dashboardId, params.version, headers['if-match'])),
  )
}

function templateRoutes(http: Http, templates: Templates) {
  const path = '/app-versions/:appVersionName/template'

  http.get(path, { schema: schemas.getTemplate, config: onDashboard('application:read') }, async (request, reply) => {
    const row = await templates.get(request.ctx, request.params.appVersionName)
    const etag = etagOfTemplate(row)
    return notModified(request.headers, etag) ? reply.header('etag', etag).code(304).send() : sendTemplate(reply, row)
  })

  http.put(
    path,
    { schema: schemas.updateTemplate, config: { ...onDashboard('application:update'), ...withContents } },
    async ({ ctx, params, body, headers }, reply) =>
      sendTemplate(reply, await templates.put(ctx, params.appVersionName, body, headers['if-match'])),
  )

  http.delete(
    path,
    { schema: schemas.deleteTemplate, config: onDashboard('application:update') },
    async ({ ctx, params, headers }, reply) => {
      await templates.delete(ctx, params.appVersionName, headers['if-match'])
      return reply.code(204).send()
    },
  )
}
