import type { Identity } from '../../../identity/contract.ts'
import { type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { newName } from '../../../kernel/ids.ts'
import type { Caches } from '../cache.ts'
import type { ApplicationDocument } from '../document.ts'
import { ApplicationNameTaken, NoApplication } from '../errors.ts'
import {
  ApplicationCreated,
  ApplicationDeleted,
  ApplicationUpdated,
  ConfigurationChanged,
  VersionDeleted,
} from '../events.ts'
import type { ApplicationsSettings } from '../settings.ts'
import * as store from '../store.ts'
import { readableNames, requireApplication, requireTenant, resourceName, tenantToRead } from './access.ts'
import type { Usages } from './usages.ts'

export interface ApplicationOperations {
  /** Creates an application. Returns its name, which is given or generated. */
  create(ctx: Ctx, input: store.Naming & { name?: string; tenantId?: string }): Promise<string>
  /** Returns the list as one text. A long list is returned in pieces. */
  list(ctx: Ctx, selection: { tenantId?: string }): Promise<Document | AsyncIterable<string>>
  read(ctx: Ctx, application: { name: string; tenantId?: string }): Promise<Document>
  update(ctx: Ctx, name: string, change: store.Naming, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, name: string, ifMatch: string | undefined): Promise<void>
  /** Finds an application without a permission check. */
  find(name: string): Promise<ApplicationDocument | undefined>
  /** Deletes all data of a deleted tenant. */
  deleteTenantData(sql: Sql, tenantId: string): Promise<void>
}

export function createApplicationOperations(
  { db, bus, now, settings }: Kit<ApplicationsSettings>,
  identity: Identity,
  caches: Caches,
  usages: Usages,
): ApplicationOperations {
  const find = (name: string) =>
    caches.documents.read(name, async () => {
      const row = await store.findApplication(db.sql, name)
      return row && { name, tenantId: row.tenantId, ...documentOf(row.document) }
    })

  function chooseName(requested: string | undefined): string {
    if (settings.generateApplicationNames) {
      if (requested) throw invalidField('name', 'must be empty, because the platform generates the names')
      return newName()
    }
    if (requested === undefined) throw invalidField('name', 'is required')
    if (requested === '') throw invalidField('name', 'must not be empty')
    return requested
  }

  return {
    find,

    async create(ctx, { tenantId: requested, ...input }) {
      const tenantId = requireTenantAccess(ctx, requested, 'platform:application:create')
      await requireTenant(ctx, tenantId, identity)
      const name = chooseName(input.name)
      await db.tx(async (sql) => {
        const inserted = await store.insertApplication(sql, { ...input, name, tenantId, at: now() })
        if (!inserted) throw ApplicationNameTaken({ name })
        await store.writeDocument(sql, name)
        // A caller of another tenant needs no grant, because its permission is on the platform.
        if (tenantId === ctx.tenantId) await identity.grantCreator(sql, ctx, resourceName(name))
        await bus.publish(sql, ApplicationCreated, { tenantId, applicationName: name })
      })
      return name
    },

    async list(ctx, { tenantId: requested }) {
      const tenantId = tenantToRead(ctx, requested)
      const names = readableNames(ctx, tenantId)
      const load = async () => {
        const { documents, complete } = await store.findDocuments(db.sql, { tenantId, names })
        return complete ? documentOf(`[${documents.join(',')}]`) : undefined
      }
      const list = await (names ? load() : caches.lists.read(tenantId, load))
      return list ?? streamArray(streamDocuments(db.sql, { tenantId, names }))
    },

    async read(ctx, { name, tenantId }) {
      if (tenantId !== undefined) tenantToRead(ctx, tenantId)
      const application = requireApplication(ctx, name, await find(name))
      if (tenantId !== undefined && tenantId !== application.tenantId) throw NoApplication({ name })
      return application
    },

    async update(ctx, name, change, ifMatch) {
      await db.tx(async (sql) => {
        const application = requireApplication(ctx, name, await store.lockApplication(sql, name), 'application:update')
        checkIfMatch(ifMatch, etagOf(application.document))
        if (Object.keys(change).length === 0) return
        await store.updateApplication(sql, name, { ...change, at: now() })
        await store.writeDocument(sql, name)
        await bus.publish(sql, ApplicationUpdated, { tenantId: application.tenantId, applicationName: name })
      })
    },

    async delete(ctx, name, ifMatch) {
      await db.tx(async (sql) => {
        const application = requireApplication(ctx, name, await store.lockApplication(sql, name), 'application:delete')
        checkIfMatch(ifMatch, etagOf(application.document))
        const deleted = { tenantId: application.tenantId, applicationName: name }
        await usages.requireUnused(sql, deleted)
        for (const version of await store.findVersions(sql, name))
          await bus.publish(sql, VersionDeleted, { ...deleted, versionName: version.name })
        await store.deleteApplication(sql, name)
        await identity.forgetResource(sql, application.tenantId, resourceName(name))
        await bus.publish(sql, ApplicationDeleted, deleted)
      })
      await Promise.all([VersionDeleted, ApplicationDeleted].map((event) => bus.delivered(event, name)))
    },

    async deleteTenantData(sql, tenantId) {
      // The identity service deletes the grants with the realm.
      const { versions, applications, instances } = await store.deleteTenant(sql, tenantId)
      // The statements are sent in this order without waiting for each answer. A tenant can have 100,000 applications, so 100,000 round
      // trips would take too long.
      await Promise.all([
        ...versions.map((version) => bus.publish(sql, VersionDeleted, { tenantId, ...version })),
        ...applications.map((application) => bus.publish(sql, ApplicationDeleted, { tenantId, ...application })),
        ...instances.map((instance) =>
          bus.publish(sql, ConfigurationChanged, { tenantId, ...instance, level: 'tenant' }),
        ),
      ])
    },
  }
}

/** Yields documents page by page, so that a slow client occupies no database connection. */
export async function* streamDocuments(sql: Sql, selection: { tenantId?: string; names?: string[] | undefined }) {
  let after: string | undefined
  for (;;) {
    const page = await store.findDocuments(sql, { ...selection, after })
    yield* page.documents
    if (page.complete || page.last === undefined) return
    after = page.last
  }
}

export async function* streamArray(items: AsyncIterable<string>): AsyncGenerator<string> {
  let separator = '['
  for await (const item of items) {
    yield separator + item
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}
