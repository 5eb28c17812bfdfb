/** Creates, reads, changes and deletes actions of all types. */
import { authorize, authorizeOrNotFound, type Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { checkIfMatch } from '../../../../kernel/etag.ts'
import { onResource, onTenant } from '../../../../kernel/permissions.ts'
import { NoAction } from '../../errors.ts'
import type { ActionType, ValueType } from '../../model.ts'
import { actionTypeDefinitions } from '../action-types.ts'
import { findStatistics } from '../store/library.ts'
import { findRulesOfAction } from '../store/links.ts'
import { findSecret } from '../store/secrets.ts'
import { setWriter } from '../store/writers.ts'
import { checkAttributes } from './attributes.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { ruleKind, withoutNulls, writerOf } from './rules.ts'
import { secretKind } from './secrets.ts'

export const actionKind = (type: ActionType): library.Kind => ({
  table: 'actions',
  type,
  scope: `${type}-action`,
  resource: 'action',
  missing: (id) => NoAction({ type, id }),
  counter: 'revision',
  isCached: true,
})

export interface ActionBody {
  name: string
  description?: string | undefined
  uiMetadata?: string | undefined
  valueTypes?: Record<string, ValueType> | undefined
  [field: string]: unknown
}

export interface ActionRow extends library.Row {
  type: ActionType
  uiMetadata: string | null
  fields: Record<string, unknown>
  valueTypes: Record<string, ValueType>
  executes: string | null
  revision: number
}

export type ActionView = Record<string, unknown>

export interface ActionOperations {
  create(ctx: Ctx, type: ActionType, body: ActionBody): Promise<string>
  list(ctx: Ctx, type: ActionType, query: library.ListQuery): Promise<library.Listed<ActionView>>
  read(ctx: Ctx, action: { type: ActionType; id: string }): Promise<{ view: ActionView; etag: string }>
  update(
    ctx: Ctx,
    action: { type: ActionType; id: string },
    body: ActionBody,
    ifMatch: string | undefined,
  ): Promise<void>
  delete(ctx: Ctx, action: { type: ActionType; id: string }, ifMatch: string | undefined): Promise<void>
}

export const createActionOperations = (deps: Deps): ActionOperations => ({
  create: (ctx, type, body) => create(deps, ctx, type, body),
  list: (ctx, type, query) => list(deps, ctx, type, query),
  read: (ctx, action) => read(deps, ctx, action),
  update: (ctx, action, body, ifMatch) => update(deps, ctx, action, body, ifMatch),
  delete: (ctx, { type, id }, ifMatch) =>
    library.remove(deps, ctx, actionKind(type), { id, ifMatch }, (sql, row) => findRulesOfAction(sql, row.id)),
})

async function create(deps: Deps, ctx: Ctx, type: ActionType, body: ActionBody): Promise<string> {
  authorize(ctx, `tenant:${type}-action:create`, onTenant(ctx.tenantId))
  const columns = await columnsOf(deps, ctx, type, body)
  return await deps.kit.db.tx((sql) =>
    library.insert(deps, sql, ctx, actionKind(type), { ...columns, ...writerOf(ctx) }),
  )
}

async function list(deps: Deps, ctx: Ctx, type: ActionType, query: library.ListQuery) {
  if (query.ruleId !== undefined && !library.mayRead(ctx, ruleKind, query.ruleId)) return library.nothingListed
  return await library.list(deps, ctx, actionKind(type), query, async (rows: ActionRow[]) => {
    const statistics = await findStatistics(
      deps.kit.db.sql,
      rows.map(({ id }) => id),
    )
    return rows.map((row) => viewOf(row, library.statisticsView(statistics.get(row.id))))
  })
}

async function read(deps: Deps, ctx: Ctx, { type, id }: { type: ActionType; id: string }) {
  const { sql } = deps.kit.db
  const kind = actionKind(type)
  const row = await library.requireRow<ActionRow>(sql, ctx, kind, { id, verb: 'read' })
  const statistics = library.statisticsView((await findStatistics(sql, [row.id])).get(row.id))
  return { view: viewOf(row, statistics), etag: library.etagOfRow(kind, row) }
}

async function update(
  deps: Deps,
  ctx: Ctx,
  { type, id }: { type: ActionType; id: string },
  body: ActionBody,
  ifMatch: string | undefined,
) {
  const { kit, changes } = deps
  const kind = actionKind(type)
  library.requireOwn(await library.requireRow(kit.db.sql, ctx, kind, { id, verb: 'update' }))
  const columns = await columnsOf(deps, ctx, type, body)
  await kit.db.tx(async (sql) => {
    const row = await library.requireRow<ActionRow>(sql, ctx, kind, { id, verb: 'update', lock: true })
    checkIfMatch(ifMatch, library.etagOfRow(kind, row))
    if (await setWriter(sql, 'actions', row, writerOf(ctx))) await changes.record(sql, row.tenantId, [row.id])
    await library.change(deps, sql, kind, row, columns)
  })
}

/** Checks the permissions that the action needs, and all its fields. Returns its columns. */
export async function columnsOf(deps: Deps, ctx: Ctx, type: ActionType, body: ActionBody) {
  const definition = actionTypeDefinitions[type]
  for (const scope of definition.needs) authorize(ctx, scope, onTenant(ctx.tenantId))
  const inputFields: Record<string, unknown> = {}
  for (const name of [...Object.keys(definition.attributes), ...Object.keys(definition.fields)])
    if (body[name] !== undefined) inputFields[name] = body[name]
  const fields = definition.complete?.(inputFields) ?? inputFields
  const valueTypes = await checkAttributes(deps, ctx, definition, fields, body.valueTypes)
  if (typeof fields.ruleId === 'string') fields.ruleId = await executableRule(deps, ctx, fields.ruleId)
  if (typeof fields.signingSecretName === 'string') await requireSecret(deps, ctx, fields.signingSecretName)
  return {
    name: body.name,
    description: body.description ?? null,
    uiMetadata: body.uiMetadata ?? null,
    fields,
    valueTypes,
    executes: (fields.ruleId as string | undefined) ?? null,
  }
}

/**
 * Returns the id of a rule that the caller may execute. Throws 400 if the caller may not read the rule, and 403 if it lacks the scope to
 * execute it (document 5, 1.2).
 */
async function executableRule({ kit }: Deps, ctx: Ctx, ruleId: string): Promise<string> {
  const unknown = () => invalidField('ruleId', `there is no rule ${ruleId}, or the caller may not read it`)
  const [id, tenant] = [ruleId.toLowerCase(), { tenantId: ctx.tenantId }]
  const row = library.isUuid(id) ? await library.findById(kit.db.sql, ruleKind, { ...tenant, id }) : undefined
  if (!row) throw unknown()
  const resource = onResource(ctx.tenantId, library.resourceName(ruleKind, id))
  authorizeOrNotFound(ctx, { read: 'rule:read', scope: 'rule:execute' }, resource, unknown)
  return id
}

async function requireSecret({ kit }: Deps, ctx: Ctx, name: string) {
  const secret = await findSecret(kit.db.sql, ctx.tenantId, name)
  if (!secret || !library.mayRead(ctx, secretKind, secret.id))
    throw invalidField('signingSecretName', `there is no secret ${name}, or the caller may not read it`)
}

const viewOf = (row: ActionRow, statistics: library.StatisticsView): ActionView => {
  const { id, name, description, uiMetadata, fields, valueTypes, createdAt, updatedAt } = row
  return {
    ...fields,
    ...withoutNulls({ id, name, description, uiMetadata, createdAt, updatedAt }),
    valueTypes,
    statistics,
  }
}
