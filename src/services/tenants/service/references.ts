/** The fields of a tenant that refer to entries of catalogues. */
import type { Sql } from '../../../kernel/db.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import { type Catalogue, catalogues } from '../catalogues.ts'
import { lockEntryShared } from '../store/catalogues.ts'
import { defaultVersions, type RealmVersions, type TenantChoices } from '../tenant.ts'

/** The fields from which the realm is built. */
export const realmFields = Object.keys(defaultVersions) as (keyof RealmVersions)[]

const camel = (column: string) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The name of a field in requests and events; v1 calls the user template `user`. */
export const requestNameOf = (field: string) => (field === 'userTemplate' ? 'user' : snake(field))

/** Throws a 400 that names every field whose catalogue entry does not exist. Locks the existing entries until the transaction ends. */
export async function requireReferences(sql: Sql, references: Partial<RealmVersions & TenantChoices>) {
  const fields: Record<string, string[]> = {}
  for (const catalogue of catalogues as readonly Catalogue[]) {
    if (!catalogue.usedAs) continue
    const field = camel(catalogue.usedAs)
    const id = (references as Record<string, number | null | undefined>)[field]
    if (id === undefined || id === null || (await lockEntryShared(sql, catalogue, id))) continue
    fields[requestNameOf(field)] = [`${catalogue.title} ${id} does not exist`]
  }
  const [first] = Object.entries(fields)
  if (first) throw InvalidRequest({ problem: `${first[0]}: ${first[1][0]}` }, { fields })
}

/** Returns the given keys of an object, without keys whose value is undefined. */
export const definedFieldsOf = <T extends object, K extends keyof T>(from: T, keys: readonly K[]) =>
  Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])) as Partial<
    Pick<T, K>
  >
