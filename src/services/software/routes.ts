import { notModified } from '../../kernel/etag.ts'
import { checkFilename, checkWholeContent, parseDigest } from '../../kernel/http/content-headers.ts'
import { type Http, isSigned } from '../../kernel/http/routes.ts'
import { sendText } from '../../kernel/http/send.ts'
import { sendContent } from '../../kernel/http/send-content.ts'
import { jsonArray } from '../../kernel/json-text.ts'
import { windowOf } from '../../kernel/paging.ts'
import { listOf } from '../../kernel/schema.ts'
import * as rolloutSchemas from './schemas/rollouts.ts'
import * as schemas from './schemas/versions.ts'
import type { SoftwareService } from './service.ts'

const read = { scope: 'application:software:read' }
const update = { scope: 'application:software:update' }
const remove = { scope: 'application:software:delete' }
/** The specification and the metadata inside of the body are free-form JSON. */
const free = { ...update, anyJson: 'inside' } as const
const link = { ...read, signedBy: 'signature' }

async function* textsOf(values: AsyncIterable<object>) {
  for await (const value of values) yield JSON.stringify(value)
}

export function routes(http: Http, service: SoftwareService) {
  const versionsPath = '/applications/:appName/software'
  const versionPath = `${versionsPath}/:softwareVersion`
  versionRoutes(http, service, { all: versionsPath, one: versionPath })
  fileRoutes(http, service, `${versionPath}/file`)
  rolloutRoutes(http, service, versionPath)
  endpointRoutes(http, service, `${versionsPath}/endpoints`)
}

function versionRoutes(http: Http, { versions }: SoftwareService, { all, one }: { all: string; one: string }) {
  http.get(all, { schema: schemas.listSoftware, config: read }, async ({ ctx, params }, reply) =>
    sendText(reply, jsonArray(textsOf(await versions.list(ctx, params.appName)))),
  )
  http.get(one, { schema: schemas.readSoftware, config: read }, async ({ ctx, params, headers }, reply) => {
    const { view, etag } = await versions.read(ctx, params)
    reply.header('etag', etag)
    return notModified(headers, etag) ? reply.code(304).send() : reply.send(view)
  })
  http.post(one, { schema: schemas.createSoftware, config: free }, async (request, reply) => {
    const { ctx, params, body } = request
    if (body.filename !== undefined) checkFilename(body.filename)
    const { view, etag } = await versions.create(ctx, params, body)
    const path = `/applications/${encodeURIComponent(params.appName)}/software/${encodeURIComponent(params.softwareVersion)}`
    return reply.code(201).header('location', http.link(request, path)).header('etag', etag).send(view)
  })
  http.put(one, { schema: schemas.updateSoftware, config: free }, async ({ ctx, params, body, headers }, reply) => {
    await versions.update(ctx, params, body, headers['if-match'])
    return reply.code(204).send()
  })
  http.delete(one, { schema: schemas.deleteSoftware, config: remove }, async ({ ctx, params, headers }, reply) => {
    await versions.delete(ctx, params, headers['if-match'])
    return reply.code(204).send()
  })
}

function fileRoutes(http: Http, { files }: SoftwareService, file: string) {
  const upload = { schema: schemas.uploadSoftwareFile, config: { ...update, streamBody: true } }
  http.put(file, upload, async ({ ctx, params, query, headers, body }, reply) => {
    if (query.filename !== undefined) checkFilename(query.filename)
    checkWholeContent(headers)
    const length = Number(headers['content-length'] ?? 0)
    const upload = { filename: query.filename, content: body, length, digest: parseDigest(headers) }
    const checksum = await files.upload(ctx, params, upload)
    return reply.code(204).header('etag', `"${checksum}"`).send()
  })
  http.get(file, { schema: schemas.downloadSoftwareFile, config: link }, (request, reply) => {
    const { ctx, params, query } = request
    const { expires = '', signature = '' } = query
    return sendContent(request, reply, (choose) =>
      isSigned(request, link)
        ? files.openLink(params, { expires, signature }, choose)
        : files.open(ctx, params, choose),
    )
  })
}

function rolloutRoutes(http: Http, { versions, rollouts, retries }: SoftwareService, one: string) {
  http.post(`${one}/pause`, { schema: rolloutSchemas.pauseRollout, config: update }, async ({ ctx, params }, reply) => {
    await versions.pause(ctx, params)
    return reply.code(204).send()
  })
  http.post(
    `${one}/resume`,
    { schema: rolloutSchemas.resumeRollout, config: update },
    async ({ ctx, params }, reply) => {
      await versions.resume(ctx, params)
      return reply.code(204).send()
    },
  )
  http.post(`${one}/retry`, { schema: rolloutSchemas.retryRollout, config: update }, ({ ctx, params, body }) =>
    retries.retry(ctx, params, body.endpointIds),
  )
  http.get(`${one}/rollout`, { schema: rolloutSchemas.readRollout, config: read }, ({ ctx, params }) =>
    rollouts.rollout(ctx, params),
  )
  http.get(`${one}/preview`, { schema: rolloutSchemas.previewRollout, config: read }, ({ ctx, params, query }) =>
    rollouts.preview(ctx, params, query.rolloutStrategy),
  )
}

function endpointRoutes(http: Http, { rollouts }: SoftwareService, endpoints: string) {
  http.get(endpoints, { schema: rolloutSchemas.listEndpoints, config: read }, async ({ ctx, params, query }, reply) => {
    const { endpointId, version, targetVersion, failedVersion, state, offset, limit } = query
    const ids = listOf(endpointId)
    const endpointQuery = { endpointIds: ids?.length ? ids : undefined, version, targetVersion, failedVersion, state }
    const { total, endpoints: found } = await rollouts.list(
      ctx,
      params.appName,
      endpointQuery,
      windowOf({ offset, limit }),
    )
    reply.header('x-total-count', total)
    return Array.isArray(found) ? reply.send(found) : sendText(reply, jsonArray(textsOf(found)))
  })
  http.get(`${endpoints}/:endpointId`, { schema: rolloutSchemas.readEndpoint, config: read }, ({ ctx, params }) =>
    rollouts.endpoint(ctx, params),
  )
}
