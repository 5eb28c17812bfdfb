import { checkFilename, checkWholeContent, parseDigest } from '../../../kernel/http/content-headers.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { linkOf } from '../links.ts'
import * as schemas from '../schemas.ts'
import type { BinaryDataService } from '../service.ts'

const config = { scope: 'none', keyHeader: 'X-Auth-Token', streamBody: true } as const

/** Issues upload tokens to callers that upload on behalf of a device. */
export function uploadTokenRoutes(http: Http, { tokens }: BinaryDataService) {
  http.post(
    '/applications/:appName/endpoints/:endpointId/upload-tokens',
    { schema: schemas.createUploadToken, config: { scope: 'endpoint:update' } },
    async ({ ctx, params }, reply) => reply.code(201).send(await tokens.create(ctx, params)),
  )
}

export function uploadRoutes(http: Http, { uploads }: BinaryDataService, baseUrl: () => string) {
  const uploadHeadersOf = ({ headers }: { headers: Record<string, string | string[] | undefined> }) => {
    checkWholeContent(headers)
    return {
      token: headers['x-auth-token']?.toString(),
      length: Number(headers['content-length'] ?? 0),
      digest: parseDigest(headers),
    }
  }

  http.post('/binary-data', { schema: schemas.uploadBlob, config }, async (request, reply) => {
    const name = request.query.name || undefined
    const blob = await uploads.receive({ ...uploadHeadersOf(request), kind: 'blob', name, content: request.body })
    return reply.code(201).header('location', linkOf(baseUrl(), blob)).header('etag', `"${blob.checksum}"`).send()
  })

  http.post('/files/:filename', { schema: schemas.uploadFile, config }, async (request, reply) => {
    const name = checkFilename(request.params.filename)
    const file = await uploads.receive({ ...uploadHeadersOf(request), kind: 'file', name, content: request.body })
    return reply.code(204).header('etag', `"${file.checksum}"`).send()
  })
}
