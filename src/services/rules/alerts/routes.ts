import type { Clock } from '../../../kernel/clock.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Http, Reply } from '../../../kernel/http/routes.ts'
import { sendList } from '../../../kernel/http/send.ts'
import { windowOfPage } from '../../../kernel/paging.ts'
import { criteriaOf, entityTypeOf, type GivenCriteria } from './criteria.ts'
import type { Acknowledgement, AlertView } from './model.ts'
import * as schemas from './schemas.ts'
import type { AlertRef } from './service/access.ts'
import type { BulkDeletion } from './service/operations.ts'
import type { AlertReading } from './service/reading.ts'

export interface AlertOperations extends AlertReading {
  get(ctx: Ctx, alert: AlertRef): Promise<AlertView>
  acknowledge(ctx: Ctx, alert: AlertRef, given: { acknowledgement: Acknowledgement; comment?: string }): Promise<void>
  resolve(ctx: Ctx, alert: AlertRef, reason: string | undefined): Promise<void>
  delete(ctx: Ctx, alert: AlertRef): Promise<void>
  deleteAll(ctx: Ctx, alertIds: string[]): Promise<BulkDeletion>
}

const path = '/alerts/:alertId'

export function alertRoutes(http: Http, now: Clock, alerts: AlertOperations) {
  const list = async (ctx: Ctx, request: GivenCriteria & Parameters<typeof pageOf>[0], reply: Reply) =>
    sendList(reply, await alerts.list(ctx, criteriaOf(request, now()), pageOf(request)))
  http.get('/alerts', { schema: schemas.listAlerts, config: { scope: 'alert:read' } }, ({ ctx, query }, reply) =>
    list(ctx, query, reply),
  )
  http.post(
    '/alerts/search',
    { schema: schemas.searchAlerts, config: { scope: 'alert:read', bodyOptional: true } },
    ({ ctx, body }, reply) => list(ctx, body, reply),
  )
  http.post('/alerts/delete', { schema: schemas.deleteAlerts, config: { scope: 'alert:delete' } }, ({ ctx, body }) =>
    alerts.deleteAll(ctx, body.alertIds),
  )
  http.get('/alerts/types', { schema: schemas.listAlertTypes, config: { scope: 'alert:read' } }, ({ ctx, query }) =>
    alerts.types(ctx, entityTypeOf(query.entityType)),
  )
  http.get(
    '/alerts/metadata-keys',
    { schema: schemas.listMetadataKeys, config: { scope: 'alert:read' } },
    ({ ctx, query }) => alerts.metadataKeys(ctx, query.metadataKeysType),
  )
  singleRoutes(http, alerts)
}

function singleRoutes(http: Http, alerts: AlertOperations) {
  const refOf = (alertId: string, { entityId, entityType }: { entityId?: string; entityType?: string }): AlertRef => ({
    alertId,
    entityId,
    entityType: entityTypeOf(entityType),
  })
  http.get(path, { schema: schemas.getAlert, config: { scope: 'alert:read' } }, ({ ctx, params, query }) =>
    alerts.get(ctx, refOf(params.alertId, query)),
  )
  http.delete(path, { schema: schemas.deleteAlert, config: { scope: 'alert:delete' } }, async (request, reply) => {
    const { ctx, params, query } = request
    await alerts.delete(ctx, refOf(params.alertId, query))
    return reply.code(204).send()
  })
  http.put(
    `${path}/acknowledgement`,
    { schema: schemas.acknowledgeAlert, config: { scope: 'alert:update' } },
    async ({ ctx, params, query, body }, reply) => {
      await alerts.acknowledge(ctx, refOf(params.alertId, query), body)
      return reply.code(204).send()
    },
  )
  http.put(
    `${path}/resolve`,
    { schema: schemas.resolveAlert, config: { scope: 'alert:update', bodyOptional: true } },
    async ({ ctx, params, body }, reply) => {
      await alerts.resolve(ctx, refOf(params.alertId, body), body.reason)
      return reply.code(204).send()
    },
  )
  http.get(
    `${path}/lifecycle-events`,
    { schema: schemas.listLifecycleEvents, config: { scope: 'alert:read' } },
    async ({ ctx, params, query }, reply) =>
      sendList(
        reply,
        await alerts.lifecycleEvents(ctx, refOf(params.alertId, query), {
          eventType: query.eventType,
          descending: query.sortOrder === 'desc',
          ...windowOfPage(query),
          limit: query.size,
        }),
      ),
  )
}

const pageOf = (given: {
  sort: 'startedAt' | 'lastActiveAt' | 'severityLevel'
  sortOrder: 'asc' | 'desc'
  page: number
  size: number
}) => ({
  sort: given.sort,
  descending: given.sortOrder === 'desc',
  ...windowOfPage(given),
  limit: given.size,
})
