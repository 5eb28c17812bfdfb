import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import type { Caches } from '../cache.ts'
import type { ApplicationVersionRef } from '../contract.ts'
import { NoVersion, TooManyVersions, VersionNameTaken } from '../errors.ts'
import { VersionCreated, VersionDeleted, VersionUpdated } from '../events.ts'
import * as store from '../store.ts'
import { requireApplication } from './access.ts'
import type { ApplicationOperations } from './applications.ts'
import type { Usages } from './usages.ts'

interface VersionNames {
  applicationName: string
  versionName: string
}

export interface VersionOperations {
  /** Creates a version. Returns its full name. */
  create(ctx: Ctx, input: store.Naming & { applicationName: string; nameSuffix: string }): Promise<string>
  list(ctx: Ctx, applicationName: string): Promise<Document>
  read(ctx: Ctx, version: VersionNames): Promise<Document>
  update(ctx: Ctx, version: VersionNames, change: store.Naming, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, version: VersionNames, ifMatch: string | undefined): Promise<void>
  findOwner(versionName: string, sql?: Sql): Promise<ApplicationVersionRef | undefined>
}

/** Maximum number of versions of an application, because its document contains all versions and is rewritten with every change. */
export const versionsMax = 1000

export function createVersionOperations(
  { db, bus, now }: Kit,
  applications: ApplicationOperations,
  caches: Caches,
  usages: Usages,
): VersionOperations {
  const requireReadable = async (ctx: Ctx, name: string) => requireApplication(ctx, name, await applications.find(name))

  return {
    async create(ctx, { applicationName, nameSuffix, ...naming }) {
      const name = `${applicationName}-${nameSuffix}`
      await db.tx(async (sql) => {
        const locked = await store.lockApplication(sql, applicationName)
        const { tenantId } = requireApplication(ctx, applicationName, locked, 'application:update')
        if ((await store.countVersions(sql, applicationName)) >= versionsMax)
          throw TooManyVersions({ name: applicationName, limit: versionsMax })
        const inserted = await store.insertVersion(sql, { ...naming, name, applicationName, tenantId, at: now() })
        if (!inserted) throw VersionNameTaken({ name })
        await store.writeDocument(sql, applicationName)
        await bus.publish(sql, VersionCreated, { tenantId, applicationName, versionName: name })
      })
      return name
    },

    async list(ctx, applicationName) {
      await requireReadable(ctx, applicationName)
      return documentOf(JSON.stringify((await store.findVersions(db.sql, applicationName)).map(versionJson)))
    },

    async read(ctx, { applicationName, versionName }) {
      await requireReadable(ctx, applicationName)
      return versionDocument(versionName, await store.findVersion(db.sql, applicationName, versionName))
    },

    async update(ctx, { applicationName, versionName }, change, ifMatch) {
      await db.tx(async (sql) => {
        const locked = await store.lockApplication(sql, applicationName)
        const { tenantId } = requireApplication(ctx, applicationName, locked, 'application:update')
        const current = versionDocument(versionName, await store.findVersion(sql, applicationName, versionName))
        checkIfMatch(ifMatch, current.etag)
        if (Object.keys(change).length === 0) return
        await store.updateVersion(sql, versionName, { ...change, at: now() })
        await store.writeDocument(sql, applicationName)
        await bus.publish(sql, VersionUpdated, { tenantId, applicationName, versionName })
      })
    },

    async delete(ctx, { applicationName, versionName }, ifMatch) {
      await db.tx(async (sql) => {
        const locked = await store.lockApplication(sql, applicationName)
        const { tenantId } = requireApplication(ctx, applicationName, locked, 'application:delete')
        const current = versionDocument(versionName, await store.findVersion(sql, applicationName, versionName))
        checkIfMatch(ifMatch, current.etag)
        await usages.requireUnused(sql, { tenantId, applicationName, versionName })
        await store.deleteVersion(sql, versionName)
        await store.writeDocument(sql, applicationName)
        await bus.publish(sql, VersionDeleted, { tenantId, applicationName, versionName })
      })
      await bus.delivered(VersionDeleted, applicationName)
    },

    findOwner: (versionName, sql) =>
      sql
        ? store.findVersionOwner(sql, versionName)
        : caches.versions.read(versionName, () => store.findVersionOwner(db.sql, versionName)),
  }
}

/** Returns the JSON of a version. Unset fields are left out, as in the application's document. */
const versionJson = ({ name, displayName, description, createdDate, updatedDate }: store.VersionRow) => ({
  name,
  ...(displayName !== null && { displayName }),
  ...(description !== null && { description }),
  createdDate,
  updatedDate,
})

function versionDocument(name: string, row: store.VersionRow | undefined): Document {
  if (!row) throw NoVersion({ name })
  return documentOf(JSON.stringify(versionJson(row)))
}
