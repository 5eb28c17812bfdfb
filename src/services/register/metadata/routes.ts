import { invalidField, UnsupportedMediaType } from '../../../kernel/errors.ts'
import { notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendText } from '../../../kernel/http/send.ts'
import { narrowingListOf } from '../../../kernel/schema.ts'
import type { RegisterService } from '../service.ts'
import { bodyBytesMax } from './metadata.ts'
import * as schemas from './schemas.ts'

const read = { scope: 'endpoint:read' }
/** Metadata is arbitrary JSON of users. */
const update = { scope: 'endpoint:update', anyJson: true, bodyBytesMax }
const readKeys = { scope: 'application:endpoints-metadata-keys:read' }

export function metadataRoutes(http: Http, { metadata }: RegisterService) {
  const metadataPath = '/endpoints/:endpointId/metadata'
  const keyPath = `${metadataPath}/:key`

  http.get(
    metadataPath,
    { schema: schemas.readMetadata, config: read },
    async ({ ctx, params, query, headers }, reply) => {
      const result = await metadata.read(ctx, params.endpointId, narrowingListOf(query.include))
      reply.header('etag', result.etag)
      if (notModified(headers, result.etag)) return reply.code(304).send()
      return sendText(reply, JSON.stringify(result.metadata))
    },
  )

  http.put(
    metadataPath,
    { schema: schemas.replaceMetadata, config: update },
    async ({ ctx, params, body, headers }, reply) => {
      const etag = await metadata.replace(ctx, params.endpointId, body, headers['if-match'])
      return reply.code(204).header('etag', etag).send()
    },
  )

  http.patch(
    metadataPath,
    { schema: schemas.patchMetadata, config: { ...update, mediaType: schemas.patchType } },
    async ({ ctx, params, body, headers, raw }, reply) => {
      const contentType = headers['content-type'] ?? 'none'
      if (raw.emptyBody || !contentType.toLowerCase().startsWith(schemas.patchType)) {
        // The metadata is read first, so that a request for an endpoint that the caller may not read gets 404 and not 400 or 415.
        await metadata.read(ctx, params.endpointId)
        // The Content-Type of a request without a body has been removed.
        if (!raw.emptyBody) throw UnsupportedMediaType({ given: contentType, accepted: schemas.patchType })
      }
      if (!Array.isArray(body)) throw invalidField('body', 'expected an array of operations')
      const etag = await metadata.patch(ctx, params.endpointId, body, headers['if-match'])
      return reply.code(204).header('etag', etag).send()
    },
  )

  http.get(keyPath, { schema: schemas.readKey, config: read }, async ({ ctx, params }, reply) =>
    sendText(reply, JSON.stringify(await metadata.readKey(ctx, params.endpointId, params.key))),
  )

  http.put(keyPath, { schema: schemas.setKey, config: update }, async ({ ctx, params, body, headers, raw }, reply) => {
    if (raw.emptyBody) throw invalidField('body', 'expected a JSON value')
    const etag = await metadata.setKey(ctx, params.endpointId, params.key, body, headers['if-match'])
    return reply.code(204).header('etag', etag).send()
  })

  http.delete(keyPath, { schema: schemas.deleteKey, config: update }, async ({ ctx, params, headers }, reply) => {
    const etag = await metadata.deleteKey(ctx, params.endpointId, params.key, headers['if-match'])
    return reply.code(204).header('etag', etag).send()
  })

  http.get(
    '/endpoints/:endpointId/metadata-keys',
    { schema: schemas.listKeys, config: read },
    async ({ ctx, params }, reply) => reply.send(Object.keys((await metadata.read(ctx, params.endpointId)).metadata)),
  )

  http.get(
    '/applications/:applicationName/metadata-keys',
    { schema: schemas.listApplicationKeys, config: readKeys },
    async ({ ctx, params }, reply) =>
      sendText(reply, JSON.stringify(await metadata.keysOfApplication(ctx, params.applicationName))),
  )
}
