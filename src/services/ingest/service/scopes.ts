/** Finds out what a search sees: indices of the caller's applications, and their fields. */
import type { Ctx } from '../../../kernel/contract.ts'
import { authorize } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { onResource } from '../../../kernel/permissions.ts'
import type { Field } from '../documents/fields.ts'
import { parseExact } from '../exact-json.ts'
import { isObject } from '../query/clauses.ts'
import type { KnownField, Scope } from '../query/scope.ts'
import { findFields, findIndices, findTemplate } from '../store/templates.ts'
import { readEndpointsScope, type Target, visibleDocuments } from './access.ts'
import type { Template } from './templates.ts'

type DocumentTarget = Exclude<Target, { statistics: true }>

export async function scopeOf(sql: Sql, ctx: Ctx, { applications, dates }: DocumentTarget): Promise<Scope> {
  const indices = await findIndices(sql, ctx.tenantId, applications)
  const names = applications === 'all' ? indices.map(({ applicationName }) => applicationName) : applications
  const visible = visibleDocuments(ctx, names)
  // A caller that may read no endpoint of the application lacks a permission; see document 5, 7.5.
  if (
    applications !== 'all' &&
    applications.length === 1 &&
    visible.whole.length === 0 &&
    visible.endpointIds.length === 0
  )
    authorize(ctx, readEndpointsScope, onResource(ctx.tenantId, `application-${applications[0]}`))
  const numbersOf = (chosen: string[]) =>
    indices.filter(({ applicationName }) => chosen.includes(applicationName)).map(({ indexNo }) => indexNo)
  const fields = knownFields(
    await findFields(
      sql,
      indices.map(({ indexNo }) => indexNo),
    ),
  )
  return {
    tenantId: ctx.tenantId,
    indices: new Map(indices.map(({ indexNo, applicationName }) => [indexNo, applicationName])),
    dates,
    whole: numbersOf(visible.whole),
    partly: numbersOf(visible.partly),
    endpointIds: visible.endpointIds,
    envelopeChanged: indices.some(({ envelopeChanged }) => envelopeChanged),
    fields,
    keywords: await keywordsOf(sql, ctx.tenantId, names),
  }
}

function knownFields(rows: Field[]): Map<string, KnownField> {
  const fields = new Map<string, { types: Set<Field['type']>; listed: boolean }>()
  for (const { path, type, listed } of rows) {
    const known = fields.get(path)
    if (!known) fields.set(path, { types: new Set([type]), listed })
    else {
      known.types.add(type)
      known.listed ||= listed
    }
  }
  return fields
}

/** Returns the fields that the template of a single application declares as keywords. */
async function keywordsOf(sql: Sql, tenantId: string, names: string[]): Promise<Set<string>> {
  const keywords = new Set<string>()
  const row = names.length === 1 ? await findTemplate(sql, tenantId, names[0]!) : undefined
  if (!row) return keywords
  const visit = (properties: unknown, path: string) => {
    if (!isObject(properties)) return
    for (const [name, field] of Object.entries(properties)) {
      if (!isObject(field)) continue
      const inner = path === '' ? name : `${path}.${name}`
      if (field.type === 'keyword') keywords.add(inner)
      visit(field.properties, inner)
    }
  }
  visit((parseExact(row.template) as Template).mappings.properties, '')
  return keywords
}
