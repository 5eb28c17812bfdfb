/** Templates of applications. A template decides which samples become documents, and for how long these are kept. */
import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { NoTemplate } from '../errors.ts'
import { TemplateChanged } from '../events.ts'
import { parseExact, stringifyExact } from '../exact-json.ts'
import { isObject } from '../query/clauses.ts'
import { findPipelineSet, lockTenant } from '../store/pipelines.ts'
import * as store from '../store/templates.ts'
import { deleteScope, readScope, requireIndex, updateScope } from './access.ts'
import type { Deps } from './deps.ts'

export interface TemplateOperations {
  /** `body` is JSON text. */
  put(ctx: Ctx, index: string, body: string): Promise<void>
  /** Returns JSON text. */
  get(ctx: Ctx, index: string): Promise<string>
  delete(ctx: Ctx, index: string): Promise<void>
}

type Settings = Record<string, unknown>

export interface Template {
  order: number
  settings: Settings
  mappings: Record<string, unknown>
}

const retentionDaysMax = 36_500

export function createTemplateOperations({ kit, applications }: Deps): TemplateOperations {
  const { db, bus, now } = kit
  return {
    async put(ctx, index, body) {
      const { applicationName } = await requireIndex(applications, ctx, index, updateScope)
      const { tenantId } = ctx
      const template = readTemplate(body)
      const indexSettings = template.settings.index as Settings
      await db.tx(async (sql) => {
        await lockTenant(sql, tenantId)
        const { pipelines } = await findPipelineSet(sql, tenantId)
        const defaultPipeline = pipelineName(indexSettings.default_pipeline, tenantId, pipelines)
        // The application may have been deleted since it was looked up.
        if (!(await applications.exists(ctx, { name: applicationName }, sql))) throw NoTemplate({ index })
        const indexNo = await store.ensureIndex(sql, tenantId, applicationName)
        await store.upsertTemplate(sql, {
          tenantId,
          applicationName,
          indexNo,
          template: stringifyExact(template),
          defaultPipeline,
          retentionDays: retentionDays(indexSettings.retention_days),
          at: now(),
        })
        await bus.publish(sql, TemplateChanged, { tenantId, applicationName })
      })
    },
    async get(ctx, index) {
      const { applicationName } = await requireIndex(applications, ctx, index, readScope)
      const row = await store.findTemplate(db.sql, ctx.tenantId, applicationName)
      if (!row) throw NoTemplate({ index })
      const { order, settings, mappings } = parseExact(row.template) as Template
      const name = `${ctx.tenantId}-${applicationName}`
      return stringifyExact({ [name]: { order, index_patterns: [`${name}-*`], settings, mappings, aliases: {} } })
    },
    async delete(ctx, index) {
      const { applicationName } = await requireIndex(applications, ctx, index, deleteScope)
      const { tenantId } = ctx
      await db.tx(async (sql) => {
        await lockTenant(sql, tenantId)
        if (!(await store.deleteTemplate(sql, tenantId, applicationName))) throw NoTemplate({ index })
        await bus.publish(sql, TemplateChanged, { tenantId, applicationName })
      })
    },
  }
}

/** Parses a request. Settings are stored below `index`, even if the request has them elsewhere. */
function readTemplate(body: string): Template {
  const template = parseExact(body)
  if (!isObject(template)) throw invalidField('body', 'expected an object with mappings')
  const { mappings = {}, settings = {}, order = 0 } = template
  if (!isObject(mappings)) throw invalidField('mappings', 'expected an object with properties')
  if (mappings.properties !== undefined) checkProperties(mappings.properties, 'mappings.properties', 0)
  if (!isObject(settings)) throw invalidField('settings', 'expected an object')
  if (typeof order !== 'number' || !Number.isInteger(order)) throw invalidField('order', 'expected a whole number')
  if (settings.index !== undefined && !isObject(settings.index))
    throw invalidField('settings.index', 'expected an object')
  const indexEntries = Object.entries(settings.index ?? {})
  const others: [name: string, value: unknown][] = []
  for (const [name, value] of Object.entries(settings)) {
    if (name === 'index') continue
    const isFlat = name.startsWith('index.')
    const bare = isFlat ? name.slice('index.'.length) : name
    if (isFlat || bare === 'default_pipeline' || bare === 'retention_days') indexEntries.push([bare, value])
    else others.push([name, value])
  }
  const index: Settings = Object.fromEntries(indexEntries)
  retentionDays(index.retention_days)
  const { default_pipeline: pipeline } = index
  if (pipeline !== undefined && pipeline !== null && typeof pipeline !== 'string')
    throw invalidField('settings.index.default_pipeline', 'expected the id of a pipeline')
  return { order, settings: { ...Object.fromEntries(others), index }, mappings }
}

const mappingDepthMax = 20

function checkProperties(properties: unknown, at: string, depth: number) {
  if (!isObject(properties)) throw invalidField(at, 'expected an object of fields')
  if (depth > mappingDepthMax) throw invalidField(at, `fields may be nested at most ${mappingDepthMax} levels deep`)
  for (const [name, field] of Object.entries(properties)) {
    const path = `${at}.${name.slice(0, 100)}`
    if (!isObject(field)) throw invalidField(path, 'expected an object with the type of the field')
    if (field.type !== undefined && typeof field.type !== 'string')
      throw invalidField(`${path}.type`, 'expected a text')
    if (field.properties !== undefined) checkProperties(field.properties, `${path}.properties`, depth + 1)
  }
}

function retentionDays(value: unknown): number | null {
  if (value === undefined || value === null) return null
  const days = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value
  if (typeof days !== 'number' || !Number.isInteger(days) || days < 0 || days > retentionDaysMax)
    throw invalidField('settings.index.retention_days', `expected a whole number of days from 0 to ${retentionDaysMax}`)
  return days
}

/** Returns the id of an existing pipeline. The name may start with the tenant id, as the keys in responses do. */
function pipelineName(pipelineSetting: unknown, tenantId: string, pipelines: Record<string, string>): string | null {
  // The search engine uses `_none` for "no pipeline".
  if (pipelineSetting === undefined || pipelineSetting === null || pipelineSetting === '_none') return null
  const name = pipelineSetting as string
  if (Object.hasOwn(pipelines, name)) return name
  const bare = name.startsWith(`${tenantId}-`) ? name.slice(tenantId.length + 1) : undefined
  if (bare !== undefined && Object.hasOwn(pipelines, bare)) return bare
  throw invalidField('settings.index.default_pipeline', `there is no pipeline ${name.slice(0, 255)}`)
}
