/** The index of traffic statistics. It has a document for each application version, direction and hour (document 5, 7.2). */
import type { Sql } from '../../../kernel/db.ts'
import type { FieldType } from '../documents/fields.ts'
import type { KnownField } from '../query/scope.ts'
import { statisticsRelation } from '../store/search/statistics.ts'
import type { Target } from './access.ts'
import type { Deps } from './deps.ts'
import type { Source } from './search.ts'

export const statisticsName = 'platform-system-traffic-statistics'

export const statisticsTypes = {
  '@timestamp': { type: 'date' },
  appName: { type: 'keyword' },
  appVersionName: { type: 'keyword' },
  direction: { type: 'keyword' },
  messages: { type: 'long' },
  bytes: { type: 'long' },
}

const field = (type: FieldType): KnownField => ({ types: new Set([type]), listed: false })
const fields = new Map<string, KnownField>([
  ['appName', field('text')],
  ['appVersionName', field('text')],
  ['direction', field('text')],
  ['messages', field('long')],
  ['bytes', field('long')],
])
const indexNo = 0

export function statisticsSource(
  { trafficLog }: Pick<Deps, 'trafficLog'>,
  tenantId: string,
  { dates }: Extract<Target, { statistics: true }>,
): Source {
  return {
    relation: (sql: Sql) => statisticsRelation(sql, trafficLog.statistics(sql, tenantId)),
    scope: {
      tenantId,
      indices: new Map([[indexNo, statisticsName]]),
      dates,
      whole: [indexNo],
      partly: [],
      endpointIds: [],
      // In other indices, the columns for endpoint and version equal the fields `endpointId` and `appVersionName`. In this index they do
      // not, so conditions must use the document.
      envelopeChanged: true,
      fields,
      keywords: new Set(['appName', 'appVersionName', 'direction']),
    },
  }
}
