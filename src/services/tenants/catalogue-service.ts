import type { Kit } from '../../kernel/define-service.ts'
import { InvalidRequest, NotFound } from '../../kernel/errors.ts'
import type { Window } from '../../kernel/paging.ts'
import type { Catalogue, CatalogueItem } from './catalogues.ts'
import { StillUsed } from './errors.ts'
import * as store from './store/catalogues.ts'

type Body = Record<string, unknown>

export type CatalogueService = ReturnType<typeof createCatalogues>

/** Lists, finds, creates, updates and deletes the entries of any catalogue. */
export function createCatalogues({ db, baseUrl }: Pick<Kit, 'db' | 'baseUrl'>) {
  const notFound = ({ title }: Catalogue, id: number) => NotFound({ what: `${title} ${id}` })

  /** Adds the URL of the embedded identity provider. It is not stored, because it changes with the base URL of the installation. */
  const withDefaultUrl = ({ table }: Catalogue, item: CatalogueItem): CatalogueItem =>
    table === 'idp_servers' ? { ...item, url: item.url ?? `${baseUrl()}/auth` } : item

  function rejectViolation({ title }: Catalogue, body: Body, { field, kind }: store.ConstraintViolation): never {
    const value = `${field.replaceAll('_', ' ')} ${body[field]}`
    const problem = kind === 'taken' ? `${title} with ${value} already exists` : `${body[field]} does not exist`
    throw InvalidRequest({ problem: `${field}: ${problem}` }, { fields: { [field]: [problem] } })
  }

  return {
    async list(catalogue: Catalogue, window: Window) {
      const [count, items] = await Promise.all([
        store.countEntries(db.sql, catalogue),
        store.findEntries(db.sql, catalogue, window),
      ])
      return { count, next: null, previous: null, results: items.map((item) => withDefaultUrl(catalogue, item)) }
    },

    async find(catalogue: Catalogue, id: number) {
      const item = await store.findEntry(db.sql, catalogue, id)
      if (!item) throw notFound(catalogue, id)
      return withDefaultUrl(catalogue, item)
    },

    async create(catalogue: Catalogue, body: Body) {
      const created = await store.insertEntry(db.sql, catalogue, body)
      if ('violation' in created)
        return rejectViolation(catalogue, body, created.violation as store.ConstraintViolation)
      return withDefaultUrl(catalogue, created)
    },

    /** Updates an entry. Tenants that were built with it do not change until they are built again. */
    async update(catalogue: Catalogue, id: number, body: Body) {
      const updated = await store.updateEntry(db.sql, catalogue, id, body)
      if (!updated) throw notFound(catalogue, id)
      if ('violation' in updated)
        return rejectViolation(catalogue, body, updated.violation as store.ConstraintViolation)
      return withDefaultUrl(catalogue, updated)
    },

    async remove(catalogue: Catalogue, id: number) {
      await db.tx(async (sql) => {
        if (!(await store.lockEntry(sql, catalogue, id))) throw notFound(catalogue, id)
        const tenantId = catalogue.usedAs && (await store.findTenantUsing(sql, catalogue.usedAs, id))
        if (tenantId) throw StillUsed({ what: `${catalogue.title} ${id}`, tenantId })
        await store.deleteEntry(sql, catalogue, id)
      })
    },

    packageNamed: (name: string) => store.findPackageId(db.sql, name),
    idp: (which: 'newest' | 'first') => store.findIdpId(db.sql, which),
    subscriptionsOf: (tenantId: string, window: Window) => store.findSubscriptions(db.sql, tenantId, window),
  }
}
