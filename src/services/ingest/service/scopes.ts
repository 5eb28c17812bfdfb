/** Determines what a search can find: the indices of the caller's applications, and their fields. */

import { createCache } from '../../../kernel/cache.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { authorize } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { onResource } from '../../../kernel/permissions.ts'
import { ApplicationDeleted } from '../../applications/events.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import type { FieldType } from '../documents/fields.ts'
import { IndexChanged, TemplateChanged } from '../events.ts'
import { parseExact } from '../exact-json.ts'
import { isObject } from '../query/clauses.ts'
import type { KnownField, Scope } from '../query/scope.ts'
import { findSearchedIndices, type SearchedIndex } from '../store/templates.ts'
import { readEndpointsScope, type Target, visibleDocuments } from './access.ts'
import type { Template } from './templates.ts'

type DocumentTarget = Exclude<Target, { statistics: true }>

export interface SearchedIndices {
  find(tenantId: string, applications: string[] | 'all'): Promise<SearchedIndex[]>
}

/** Caches the data of applications that searches need, until a template or the fields of documents change. */
export function createSearchedIndices({ db, bus }: Pick<Kit, 'db' | 'bus'>): SearchedIndices {
  const cache = createCache<{ tenantId: string; indices: SearchedIndex[] }>({
    max: 1000,
    groupOf: ({ tenantId }) => tenantId,
    bus,
  })
  for (const event of [IndexChanged, TemplateChanged, ApplicationDeleted])
    cache.dropOn(event, ({ applicationName }) => applicationName)
  bus.subscribe(TenantDeleted, ({ tenantId }) => cache.dropGroup(tenantId))
  return {
    async find(tenantId, applications) {
      const [name] = applications === 'all' || applications.length > 1 ? [] : applications
      if (name === undefined) return await findSearchedIndices(db.sql, tenantId, applications)
      const known = await cache.read(name, async () => ({
        tenantId,
        indices: await findSearchedIndices(db.sql, tenantId, [name]),
      }))
      return known!.tenantId === tenantId ? known!.indices : []
    },
  }
}

export async function scopeOf(
  searched: SearchedIndices,
  ctx: Ctx,
  { applications, dates }: DocumentTarget,
  { usesMatch }: { usesMatch: boolean },
): Promise<Scope> {
  const indices = await searched.find(ctx.tenantId, applications)
  const names = applications === 'all' ? indices.map(({ applicationName }) => applicationName) : applications
  const visible = visibleDocuments(ctx, names)
  // A caller that may read no endpoint of the application gets 403 instead of an empty result (document 5, 7.5).
  if (
    applications !== 'all' &&
    applications.length === 1 &&
    visible.whole.length === 0 &&
    visible.endpointIds.length === 0
  )
    authorize(ctx, readEndpointsScope, onResource(ctx.tenantId, `application-${applications[0]}`))
  const numbersOf = (chosen: string[]) =>
    indices.filter(({ applicationName }) => chosen.includes(applicationName)).map(({ indexNo }) => indexNo)
  return {
    tenantId: ctx.tenantId,
    indices: new Map(indices.map(({ indexNo, applicationName }) => [indexNo, applicationName])),
    dates,
    whole: numbersOf(visible.whole),
    partly: numbersOf(visible.partly),
    endpointIds: visible.endpointIds,
    envelopeChanged: indices.some(({ envelopeChanged }) => envelopeChanged),
    fields: knownFields(indices),
    keywords: usesMatch ? keywordsOf(indices) : new Set(),
  }
}

function knownFields(indices: SearchedIndex[]): Map<string, KnownField> {
  const known = new Map<string, { types: Set<FieldType>; listed: boolean }>()
  for (const { fields } of indices)
    for (const [path, type, listed] of fields ?? []) {
      const field = known.get(path)
      if (!field) known.set(path, { types: new Set([type]), listed })
      else {
        field.types.add(type)
        field.listed ||= listed
      }
    }
  return known
}

/** Returns the fields that the template of a single application declares as keywords. */
function keywordsOf(indices: SearchedIndex[]): Set<string> {
  const keywords = new Set<string>()
  const template = indices.length === 1 ? indices[0]!.template : null
  if (template === null) return keywords
  const visit = (properties: unknown, path: string) => {
    if (!isObject(properties)) return
    for (const [name, field] of Object.entries(properties)) {
      if (!isObject(field)) continue
      const inner = path === '' ? name : `${path}.${name}`
      if (field.type === 'keyword') keywords.add(inner)
      visit(field.properties, inner)
    }
  }
  visit((parseExact(template) as Template).mappings.properties, '')
  return keywords
}
