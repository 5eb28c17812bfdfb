import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { listOf, narrowingListOf, type Static } from '../../../kernel/schema.ts'
import { readMetadataFilter } from '../lists/query.ts'
import { checkKey } from '../metadata/metadata.ts'
import type { RegisterService } from '../service.ts'
import { dimensionsOf } from './dimensions.ts'
import { connectionsOf, readWords, timeOfParameter } from './parameters.ts'
import type { Sort } from './query.ts'
import * as schemas from './schemas.ts'
import type { SelectionRequest } from './selection.ts'

const read = { scope: 'endpoint:read' }

export function directoryRoutes(http: Http, { directory }: RegisterService) {
  const { now } = directory
  http.get('/directory', { schema: schemas.listDirectory, config: read }, async ({ ctx, query }, reply) =>
    reply.send(
      await directory.list(ctx, {
        ...selectionOf(query, now()),
        sort: sortOf(query),
        cursor: query.cursor,
        limit: query.limit,
        includeMetadata: includesMetadata(query.include),
      }),
    ),
  )

  http.get('/directory/counts', { schema: schemas.countDirectory, config: read }, async ({ ctx, query }, reply) =>
    reply.send(
      await directory.counts(ctx, {
        ...selectionOf(query, now()),
        dimensions: dimensionsOf(listOf(query.by)),
        top: query.top,
      }),
    ),
  )

  http.get('/directory/places', { schema: schemas.listPlaces, config: read }, async ({ ctx, query }, reply) => {
    const { south, west, north, east, tenantId, limit } = query
    const rectangle = { south, west, north, east }
    return reply.send(
      await directory.places(ctx, {
        tenantId,
        applicationNames: narrowingListOf(query.applicationName),
        rectangle,
        limit,
      }),
    )
  })
}

type Selected = Pick<
  Static<typeof schemas.listDirectory.query>,
  | 'endpointId'
  | 'search'
  | 'applicationName'
  | 'applicationVersionName'
  | 'connection'
  | 'activeAfter'
  | 'activeBefore'
  | 'filterId'
  | 'metadataFilter'
  | 'tenantId'
>

const selectionOf = (query: Selected, now: Date): SelectionRequest => ({
  tenantId: query.tenantId,
  endpointIds: narrowingListOf(query.endpointId),
  applicationNames: narrowingListOf(query.applicationName),
  versionNames: narrowingListOf(query.applicationVersionName),
  words: readWords(query.search ?? ''),
  connections: connectionsOf(query.connection),
  activeAfter: timeOfParameter(query.activeAfter, 'activeAfter', now),
  activeBefore: timeOfParameter(query.activeBefore, 'activeBefore', now),
  filterIds: narrowingListOf(query.filterId),
  metadata: query.metadataFilter ? readMetadataFilter(query.metadataFilter) : [],
})

const fields = ['endpointId', 'createdDate', 'lastActivity'] as const

function sortOf({ sort = 'createdDate', sortOrder }: { sort?: string; sortOrder?: 'asc' | 'desc' }): Sort {
  const field = fields.find((name) => name === sort)
  if (!field) checkKey(sort, 'sort')
  return { by: field ? { field } : { key: sort }, descending: sortOrder === 'desc' }
}

function includesMetadata(include: string | string[] | undefined): boolean {
  const fields = listOf(include) ?? []
  if (fields.some((field) => field !== 'metadata')) throw invalidField('include', 'expected metadata')
  return fields.includes('metadata')
}
