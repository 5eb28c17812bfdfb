/** Compares documents with the tenant, and plans which objects are created, changed and deleted. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '../../../sdk/src/index.ts'
import { CommandError } from '../api/errors.ts'
import type { Document } from './documents.ts'
import { type Fields, type Found, type Kind, stepKey } from './kind.ts'
import { kinds } from './kinds.ts'

export interface Step {
  action: 'create' | 'change' | 'delete' | 'keep'
  kind: Kind
  key: string
  /** Fields after the step. */
  fields: Fields
  found?: Found | undefined
  changes: { field: string; from: unknown; to: unknown }[]
  /** Number of endpoints that the step concerns. */
  endpoints?: number | undefined
}

/** Objects by kind and key. A document cannot name an object whose key occurs twice. */
type ExistingObjects = Map<string, Found>

/** `owned` are the objects that an earlier apply made and that no document names any more; they are deleted with `prune`. */
export async function planOf(
  client: Client,
  documents: Document[],
  { owned = [] }: { owned?: string[] } = {},
): Promise<Step[]> {
  const named = new Set(documents.map(({ kind, key }) => stepKey(kind.name, key)))
  const prunable = owned.filter((name) => !named.has(name))
  const used = kinds.filter(
    ({ name }) =>
      documents.some(({ kind }) => kind.name === name) || prunable.some((key) => key.startsWith(`${name} `)),
  )
  const existing = await readExisting(client, used)
  const steps: Step[] = []
  for (const kind of used)
    for (const document of documents.filter((one) => one.kind === kind)) {
      const step = stepFor(document, existing.get(stepKey(kind.name, document.key)))
      if (step.action !== 'keep' && kind.endpoints)
        step.endpoints = await kind.endpoints(client, step.fields, step.found)
      steps.push(step)
    }
  // Objects are deleted before those that they depend on.
  for (const kind of used.toReversed())
    for (const name of prunable) {
      const found = existing.get(name)
      if (found && name === stepKey(kind.name, found.key))
        steps.push({ action: 'delete', kind, key: found.key, fields: found.fields, found, changes: [] })
    }
  return steps
}

async function readExisting(client: Client, used: Kind[]): Promise<ExistingObjects> {
  const existing: ExistingObjects = new Map()
  for (const kind of used)
    for await (const found of kind.list(client)) {
      const name = stepKey(kind.name, found.key)
      if (existing.has(name)) throw new CommandError(`there are two objects ${name}; rename one of them`)
      existing.set(name, found)
    }
  return existing
}

function stepFor({ kind, key, fields }: Document, found: Found | undefined): Step {
  if (!found) return { action: 'create', kind, key, fields: withoutNull(fields), changes: [] }
  const changes = Object.entries(fields)
    .filter(([field, to]) => !kind.identity.includes(field) && !isEqual(found.fields[field], to))
    .map(([field, to]) => ({ field, from: found.fields[field], to }))
  // Fields that a document does not name stay; null removes one.
  const merged = withoutNull({ ...found.fields, ...fields })
  return { action: changes.length > 0 ? 'change' : 'keep', kind, key, fields: merged, found, changes }
}

const withoutNull = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

const isEqual = (present: unknown, declared: unknown) =>
  // Some texts have the default ''.
  declared === null ? present === undefined || present === '' : isDeepStrictEqual(present, declared)

/** Checks that an object is still as the plan saw it, for kinds without versions. */
export async function requireUnchanged(client: Client, step: Step) {
  for await (const found of step.kind.list(client))
    if (found.key === step.key) {
      if (step.found && isDeepStrictEqual(found.fields, step.found.fields)) return
      throw new CommandError(`${step.kind.name} ${step.key} was changed since the plan was made; run plan again`, 5)
    }
  if (step.found) throw new CommandError(`${step.kind.name} ${step.key} was deleted since the plan was made`, 5)
}
