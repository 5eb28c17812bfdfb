import { Readable } from 'node:stream'
import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { timeOf, timeText } from '../../kernel/times.ts'
import { exports } from './export.ts'
import * as schemas from './schemas.ts'
import { type AuditService, readAudit, readUsage } from './service.ts'

function timeOfParameter(field: string, text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined
  const time = timeOf(text, now)
  if (time === undefined) throw invalidField(field, `expected ${timeText}`)
  return new Date(time)
}

export function routes(http: Http, service: AuditService) {
  http.get(
    '/records',
    { schema: schemas.listRecords, config: { scope: readAudit, on: 'tenant' } },
    async ({ ctx, query, raw }, reply) => {
      const { from, to, format, page, size, ...filter } = query
      const now = service.now()
      const auditQuery = { ...filter, from: timeOfParameter('from', from, now), to: timeOfParameter('to', to, now) }
      if (format === 'json')
        return reply.send(await service.list(ctx, auditQuery, { offset: page * size, limit: size }))
      const { type, lines } = exports[format]
      // `all` checks the permission on the tenant immediately, so that a rejection still gets its own status.
      const texts = lines(service.all(ctx, auditQuery))
      reply.type(type).header('content-disposition', `attachment; filename="audit.${format}"`)
      return reply.send(raw.method === 'HEAD' ? Readable.from([]) : Readable.from(texts, { highWaterMark: 1 }))
    },
  )

  http.get(
    '/usage',
    { schema: schemas.getUsage, config: { scope: readUsage, on: 'tenant' } },
    async ({ ctx, query }, reply) => reply.send(await service.usage(ctx, query)),
  )
}
