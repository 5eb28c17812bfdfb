import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import { sendContent } from '../../../kernel/http/send-content.ts'
import type { OperationSchema } from '../../../kernel/schema.ts'
import { blobView } from '../links.ts'
import * as schemas from '../schemas.ts'
import type { ItemAddress, ItemOperations } from '../service/items.ts'
import type { BinaryDataService } from '../service.ts'

const read = { scope: 'endpoint:read' }
const readContent = { ...read, linkable: true as const }
const update = { scope: 'endpoint:update' }

type DownloadRequest = Pick<Request<OperationSchema>, 'ctx' | 'headers' | 'raw'>

const download = (items: ItemOperations, request: DownloadRequest, reply: Reply, address: ItemAddress) =>
  sendContent(request, reply, (choose) => items.open(request.ctx, address, choose))

export function downloadRoutes(http: Http, { items }: BinaryDataService, baseUrl: () => string) {
  const endpoint = '/applications/:appName/endpoints/:endpointId'
  const file = `${endpoint}/files/:filename`
  const blob = `${endpoint}/binary-data/:blobId`

  http.get(file, { schema: schemas.readFile, config: readContent }, (request, reply) =>
    download(items, request, reply, request.params),
  )
  http.delete(file, { schema: schemas.deleteFile, config: update }, async ({ ctx, params }, reply) => {
    await items.delete(ctx, params)
    return reply.code(204).send()
  })

  http.get(blob, { schema: schemas.readBlob, config: read }, async ({ ctx, params }) =>
    blobView(baseUrl(), await items.find(ctx, params)),
  )
  http.get(`${blob}/data`, { schema: schemas.readBlobContent, config: readContent }, (request, reply) =>
    download(items, request, reply, request.params),
  )
  http.get(
    `${endpoint}/binary-data/data/last`,
    { schema: schemas.readLastBlob, config: readContent },
    (request, reply) => download(items, request, reply, { ...request.params, last: true }),
  )
  http.delete(blob, { schema: schemas.deleteBlob, config: update }, async ({ ctx, params }, reply) => {
    await items.delete(ctx, params)
    return reply.code(204).send()
  })
}
