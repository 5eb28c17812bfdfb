/** The topic `counts` of live streams. It sends the numbers of endpoints when they have changed. */
import { createHash } from 'node:crypto'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Live, ValueQuery } from '../../../kernel/live/live.ts'
import { visibleResources } from '../../../kernel/permissions.ts'
import { dimensionsOf } from './dimensions.ts'
import type { Directory } from './service.ts'

const scope = 'endpoint:read'
const top = 20

export function defineCountsTopic(live: Pick<Live, 'define'>, directory: Pick<Directory, 'counts'>) {
  live.define({
    name: 'counts',
    description: 'numbers of endpoints, as in `endpoints.counts.get`, when they have changed.',
    scopes: [scope],
    on: 'endpoint',
    hasEndpoints: false,
    facets: ['by'],
    isLocal: true,
    value: {
      everySeconds: 3,
      keyOf,
      async read(ctx, { applicationName, facets }) {
        const request = {
          tenantId: undefined,
          endpointIds: undefined,
          applicationNames: applicationName === undefined ? undefined : [applicationName],
          versionNames: undefined,
          words: [],
          connections: undefined,
          activeAfter: undefined,
          activeBefore: undefined,
          filterIds: undefined,
          metadata: [],
          dimensions: dimensionsOf(facets.get('by')),
          top,
        }
        return JSON.stringify(await directory.counts(ctx, request))
      },
    },
  })
}

/** Returns the key of a subscription. Callers with the same permissions share a key, so that the numbers are read only once for them. */
function keyOf({ tenantId, caller }: Ctx, { applicationName, facets }: ValueQuery): string {
  const visible = ['application-', 'endpoint-'].map((prefix) => visibleResources(caller, scope, tenantId, prefix))
  const key = JSON.stringify([tenantId, applicationName, [...(facets.get('by') ?? [])], visible])
  return createHash('sha256').update(key).digest('base64')
}
