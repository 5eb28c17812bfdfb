/** Creates, changes and deletes software versions. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import { applicationResource } from '../../register/contract.ts'
import {
  NoApplicationWithSoftware,
  NoSoftware,
  SoftwareInUse,
  SoftwareTaken,
  SpecificationTooLarge,
} from '../errors.ts'
import type { Plan, RolloutStrategy } from '../plan.ts'
import { isSemanticVersion } from '../semantic-version.ts'
import { forgetVersion } from '../store/deletions.ts'
import { isCurrent } from '../store/endpoints.ts'
import * as store from '../store/versions.ts'
import { type SoftwareView, viewsOf } from '../views.ts'
import { announceChange } from './announce.ts'
import { accessible, type Deps, deleteScope, readScope, updateScope } from './deps.ts'

export interface Target {
  appName: string
  softwareVersion: string
}

export interface ChangedFields {
  metadata?: unknown
  upgradableFrom?: string[] | undefined
  rolloutStrategy: RolloutStrategy
  filters?: { filterId: string; rolloutDate?: string | undefined }[] | undefined
  skipDispatchingToEndpoint?: boolean | undefined
  failureThreshold?: { percent: number; minimumAttempts?: number | undefined } | undefined
}
export type NewFields = ChangedFields & { specification?: unknown; filename?: string | undefined }

export interface Shown {
  view: SoftwareView
  etag: string
}

export interface VersionRules {
  create(ctx: Ctx, target: Target, fields: NewFields): Promise<Shown>
  read(ctx: Ctx, target: Target): Promise<Shown>
  /** Yields the versions in the order of their precedence, a few at a time, because their specifications may be large. */
  list(ctx: Ctx, appName: string): Promise<AsyncIterable<SoftwareView>>
  update(ctx: Ctx, target: Target, fields: ChangedFields, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, target: Target, ifMatch: string | undefined): Promise<void>
  /** Stops offers of the version until it is resumed. */
  pause(ctx: Ctx, target: Target): Promise<void>
  resume(ctx: Ctx, target: Target): Promise<void>
}

/** Maximum size of a specification. A larger specification does not fit into a message to a device (document 5, 1.7). */
const specificationBytesMax = 1_000_000
/**
 * Maximum number of versions of an application. It limits the size of plans, which nodes cache, and of the statement that computes targets.
 */
const versionsMax = 500
const filterScope = 'application:endpoint-filter:read'
const versionsPerPage = 20
const endpointsPerStatement = 1000

const ForgetVersion = defineJob<store.ApplicationKey & { number: number }>('software.forget-version', {
  timeoutSeconds: 3600,
})

export function createVersionRules(deps: Deps): VersionRules {
  const { db, jobs } = deps.kit
  jobs.handle(ForgetVersion, async (version, { signal }) => {
    for (let after: string | undefined = ''; after !== undefined; ) {
      signal.throwIfAborted()
      after = await forgetVersion(db.sql, { ...version, after, limit: endpointsPerStatement })
    }
  })
  return {
    create: (ctx, target, fields) => create(deps, ctx, target, fields),
    read: (ctx, target) => read(deps, ctx, target),
    list: (ctx, appName) => list(deps, ctx, appName),
    update: (ctx, target, fields, ifMatch) => update(deps, ctx, target, fields, ifMatch),
    delete: (ctx, target, ifMatch) => remove(deps, ctx, target, ifMatch),
    pause: (ctx, target) => setState(deps, ctx, target, 'paused'),
    resume: (ctx, target) => setState(deps, ctx, target, 'active'),
  }
}

const missing = (target: Target) => () => NoSoftware({ ...target })

const shown = (plan: Plan, row: store.VersionRow): Shown => {
  const view = viewsOf(plan)(row)
  return { view, etag: etagOf(view) }
}

/** Locks the application and returns the version. Throws 404 if the version does not exist. */
async function locked(sql: Sql, application: store.ApplicationKey, target: Target): Promise<store.VersionRow> {
  await store.lockApplication(sql, application)
  const row = await store.findVersion(sql, { ...application, version: target.softwareVersion })
  if (!row) throw NoSoftware({ ...target })
  return row
}

/** Changes an existing version while its application is locked. */
async function change(
  deps: Deps,
  ctx: Ctx,
  target: Target,
  { scope, ifMatch }: { scope: string; ifMatch?: string | undefined },
  work: (sql: Sql, application: store.ApplicationKey, row: store.VersionRow, plan: Plan) => Promise<void>,
) {
  const application = await accessible(deps, ctx, { appName: target.appName, scope }, missing(target))
  await deps.kit.db.tx(async (sql) => {
    const row = await locked(sql, application, target)
    const plan = await deps.plans.read(sql, application)
    if (ifMatch !== undefined) checkIfMatch(ifMatch, shown(plan, row).etag)
    await work(sql, application, row, plan)
  })
}

async function create(deps: Deps, ctx: Ctx, target: Target, fields: NewFields): Promise<Shown> {
  const { kit, plans, memberships } = deps
  const { appName, softwareVersion: version } = target
  const notFound = () => NoApplicationWithSoftware({ appName })
  await accessible(deps, ctx, { appName, scope: updateScope }, notFound)
  if (!isSemanticVersion(version)) throw invalidField('softwareVersion', 'expected a semantic version such as 1.2.3')
  const specification = fields.specification === undefined ? null : JSON.stringify(fields.specification)
  if (specification !== null && Buffer.byteLength(specification) > specificationBytesMax)
    throw SpecificationTooLarge({ limit: specificationBytesMax })
  const at = kit.now()
  return await kit.db.tx(async (sql) => {
    // The deletion of the application waits for this transaction. If the application was already deleted, the check fails.
    await store.holdApplication(sql, appName)
    const application = await accessible(deps, ctx, { appName, scope: updateScope }, notFound, sql)
    await store.lockApplication(sql, application)
    const plan = await plans.read(sql, application)
    if (plan.byName.has(version)) throw SoftwareTaken({ ...target })
    if (plan.versions.length >= versionsMax)
      throw InvalidRequest({
        problem: `An application can have at most ${versionsMax} software versions; delete old versions first`,
      })
    const { columns, filters } = await columnsOf(deps, ctx, sql, { application, target, plan, fields })
    const dates = { createdDate: at, updatedDate: at }
    const versionFields = { version, specification, filename: fields.filename ?? null }
    const number = await store.insertVersion(sql, { ...application, ...columns, ...versionFields, ...dates })
    if (number === undefined) throw SoftwareTaken({ ...target })
    await store.replaceRolloutFilters(sql, { ...application, number }, filters)
    await memberships.sync(sql, application)
    await announceChange(kit, sql, application)
    const row = await store.findVersion(sql, { ...application, version })
    return shown(await plans.read(sql, application), row!)
  })
}

async function read(deps: Deps, ctx: Ctx, target: Target): Promise<Shown> {
  const application = await accessible(deps, ctx, { appName: target.appName, scope: readScope }, missing(target))
  const { sql } = deps.kit.db
  const row = await store.findVersion(sql, { ...application, version: target.softwareVersion })
  if (!row) throw NoSoftware({ ...target })
  return shown(await deps.plans.read(sql, application), row)
}

async function list(deps: Deps, ctx: Ctx, appName: string): Promise<AsyncIterable<SoftwareView>> {
  const application = await accessible(deps, ctx, { appName, scope: readScope }, () =>
    NoApplicationWithSoftware({ appName }),
  )
  const { sql } = deps.kit.db
  const plan = await deps.plans.read(sql, application)
  const numbers = plan.versions.map(({ number }) => number).reverse()
  const view = viewsOf(plan)
  async function* pages() {
    for (let begin = 0; begin < numbers.length; begin += versionsPerPage) {
      const some = numbers.slice(begin, begin + versionsPerPage)
      const rows = new Map(
        (await store.findVersions(sql, { ...application, numbers: some })).map((row) => [row.number, row]),
      )
      for (const number of some) if (rows.has(number)) yield view(rows.get(number)!)
    }
  }
  return pages()
}

async function update(deps: Deps, ctx: Ctx, target: Target, fields: ChangedFields, ifMatch: string | undefined) {
  await change(deps, ctx, target, { scope: updateScope, ifMatch }, async (sql, application, { number }, plan) => {
    const { columns, filters } = await columnsOf(deps, ctx, sql, { application, target, plan, fields })
    await store.updateVersion(sql, { ...application, number }, { ...columns, updatedDate: deps.kit.now() })
    await store.replaceRolloutFilters(sql, { ...application, number }, filters)
    await deps.memberships.sync(sql, application)
    await announceChange(deps.kit, sql, application)
  })
}

async function remove(deps: Deps, ctx: Ctx, target: Target, ifMatch: string | undefined) {
  const { kit, contents, memberships } = deps
  await change(deps, ctx, target, { scope: deleteScope, ifMatch }, async (sql, application, { number }) => {
    await store.lockVersion(sql, { ...application, number })
    if (await isCurrent(sql, { ...application, number })) throw SoftwareInUse({ ...target })
    const contentKey = await store.deleteVersion(sql, { ...application, number })
    await memberships.sync(sql, application)
    await kit.jobs.send(sql, ForgetVersion, { ...application, number })
    await announceChange(kit, sql, application)
    if (contentKey !== null) await contents.release(sql, application.tenantId, [contentKey])
  })
}

async function setState(deps: Deps, ctx: Ctx, target: Target, state: 'paused' | 'active') {
  const at = deps.kit.now()
  await change(deps, ctx, target, { scope: updateScope }, async (sql, application, { number }) => {
    const to = { state, reason: null, at, resumed: state === 'active' }
    if (await store.setRolloutState(sql, { ...application, number }, to))
      await announceChange(deps.kit, sql, application)
  })
}

/** Checks the fields that refer to other objects, and returns the columns of the version. */
async function columnsOf(
  deps: Deps,
  ctx: Ctx,
  sql: Sql,
  given: { application: store.ApplicationKey; target: Target; plan: Plan; fields: ChangedFields },
): Promise<{ columns: store.VersionFields; filters: store.RolloutFilter[] }> {
  const { application, plan, fields } = given
  const { softwareVersion } = given.target
  const { metadata, upgradableFrom = [], rolloutStrategy, filters = [], failureThreshold } = fields
  const from = [...new Set(upgradableFrom)].map((version) => {
    if (version === softwareVersion) throw invalidField('upgradableFrom', 'a version cannot be upgraded to itself')
    const known = plan.byName.get(version)
    if (!known) throw invalidField('upgradableFrom', `there is no version ${version} of this application`)
    return known.number
  })
  await checkFilters(deps, ctx, sql, application, [...new Set(filters.map(({ filterId }) => filterId))])
  return {
    columns: {
      metadata: metadata === undefined ? null : JSON.stringify(metadata),
      upgradableFrom: from,
      rolloutStrategy,
      skipDispatching: fields.skipDispatchingToEndpoint ?? false,
      failurePercent: failureThreshold?.percent ?? null,
      minimumAttempts: failureThreshold ? (failureThreshold.minimumAttempts ?? 10) : null,
    },
    filters: filters.map(({ filterId, rolloutDate }, index) => ({
      filterId,
      rolloutDate: dateOf(`filters.${index}.rolloutDate`, rolloutDate),
    })),
  }
}

/** Throws a 400 for a filter that the application does not have or that the caller may not read (document 5, 1.2). */
async function checkFilters(
  { register }: Deps,
  { caller }: Ctx,
  sql: Sql,
  { tenantId, applicationName }: store.ApplicationKey,
  filterIds: string[],
) {
  if (filterIds.length === 0) return
  const isReadable = holds(caller, filterScope, onResource(tenantId, applicationResource(applicationName)))
  const found = isReadable ? await register.findFilters(sql, tenantId, filterIds) : []
  for (const filterId of filterIds)
    if (!found.some((one) => one.filterId === filterId && one.applicationName === applicationName))
      throw invalidField('filters', `there is no filter ${filterId} of this application, or the caller may not read it`)
}

/**
 * Parses a date of the form yyyy-MM-ddTHH:mm:ssZ. The schema has checked the form. Days that do not exist, such as February 30, are
 * rejected here.
 */
function dateOf(field: string, text: string | undefined): Date | null {
  if (text === undefined) return null
  const date = new Date(text)
  // PostgreSQL has no year 0.
  if (text.startsWith('0000') || Number.isNaN(date.getTime()) || `${date.toISOString().slice(0, 19)}Z` !== text)
    throw invalidField(field, 'expected a date and time such as 2026-01-31T08:00:00Z')
  return date
}
