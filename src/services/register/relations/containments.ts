/** Gives the service `assets` access to relations between endpoints. Both services use the same check for cycles. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import type { Containment, ContainmentSource, Containments } from '../contract.ts'
import { lockRefsShared, namedEndpointRelation } from '../endpoints/store/endpoints.ts'
import { RelationsUpdated } from '../events.ts'
import { type Ancestry, createAncestry } from './ancestry.ts'
import * as store from './store.ts'

/** Maximum number of levels and relations that a new relation is checked against. Real hierarchies are far smaller. */
const levelsMax = 1000
const relationsAboveMax = 20_000

/**
 * Reads the relations by which these entities are contained in others, level by level, from the register and other services. It reads
 * upwards, because an entity can contain a million entities but is contained in few.
 */
export async function ancestryOf(
  sql: Sql,
  sources: ContainmentSource[],
  tenantId: string,
  keys: string[],
): Promise<Ancestry> {
  const visited = new Set(keys)
  const relationsAbove: Containment[] = []
  let next = keys
  for (let level = 0; next.length > 0; level++) {
    const above: Containment[] = []
    const limit = () => relationsAboveMax + 1 - relationsAbove.length - above.length
    above.push(...(await store.findRelationsAbove(sql, next, limit())))
    for (const source of sources) above.push(...(await source.containersOf(sql, tenantId, next, limit())))
    relationsAbove.push(...above)
    if (level > levelsMax || relationsAbove.length > relationsAboveMax)
      throw InvalidRequest({
        problem: `relations: more than ${levelsMax} levels or ${relationsAboveMax} relations lie above these entities`,
      })
    next = [...new Set(above.map(({ from }) => from))].filter((key) => !visited.has(key))
    for (const key of next) visited.add(key)
  }
  return createAncestry(relationsAbove)
}

export function createContainments(
  { bus, now }: Pick<Kit, 'bus' | 'now'>,
  sources: ContainmentSource[],
  serialize: Containments['serialize'],
): Containments {
  return {
    serialize,
    lock: store.lockRelations,
    lockEndpoints: lockRefsShared,
    addSource: (source) => void sources.push(source),
    async firstCycle(sql, tenantId, relations) {
      const ancestry = await ancestryOf(sql, sources, tenantId, [...new Set(relations.map(({ from }) => from))])
      for (const [index, relation] of relations.entries()) {
        if (ancestry.contains(relation.to, relation.from)) return index
        ancestry.add(relation)
      }
      return undefined
    },
    async link(sql, tenantId, relations) {
      const containments = relations.map(({ from, to }) => ({ type: 'contains' as const, from, to }))
      const linked = await store.insertRelations(sql, containments, { tenantId, at: now() })
      if (linked.length > 0) await bus.publish(sql, RelationsUpdated, { tenantId, linked: [...linked], unlinked: [] })
    },
    async unlink(sql, tenantId, relations) {
      const containments = relations.map(({ from, to }) => ({ type: 'contains' as const, from, to }))
      const unlinked = await store.deleteRelations(sql, containments, now())
      if (unlinked.length > 0)
        await bus.publish(sql, RelationsUpdated, { tenantId, linked: [], unlinked: [...unlinked] })
    },
    current: store.currentRelations,
    ended: store.endedRelations,
    endpoints: namedEndpointRelation,
  }
}
