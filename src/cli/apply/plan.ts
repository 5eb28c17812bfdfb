/** Compares documents with the tenant, and plans which objects are created, changed and deleted. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '../../../sdk/src/index.ts'
import { CommandError, exitCodes } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import { type Creation, isCreatedBy } from './creation.ts'
import type { Document } from './documents.ts'
import { fieldsAfter, isSame, withoutNull } from './expected.ts'
import { type Fields, type Found, type Kind, stepKey } from './kind.ts'
import { kinds } from './kinds.ts'
import type { Owned } from './ownership.ts'

export interface Step {
  action: 'create' | 'change' | 'delete' | 'keep'
  kind: Kind
  key: string
  /** Fields after the step. */
  fields: Fields
  found?: Found | undefined
  changes: { field: string; from: unknown; to: unknown }[]
  /** Number of endpoints that the step affects. */
  endpoints?: number | undefined
}

/** The objects that exist in the tenant. */
interface ExistingObjects {
  /** Returns the objects with this name. */
  all(name: string): Found[]
  /**
   * Returns the object with this name. Throws if several objects have the name, because a document identifies its object only by name.
   */
  get(name: string): Found | undefined
}

/**
 * Creates the plan. `owned` are the objects that an earlier apply created, and `begun` the creations of an interrupted apply. Of these, the
 * plan deletes the objects that no document names any more. An object that another caller has created with the same name is not deleted.
 */
export async function planOf(
  client: Client,
  documents: Document[],
  { owned = [], begun = [] }: { owned?: Owned[]; begun?: Creation[] } = {},
): Promise<Step[]> {
  const named = new Set(documents.map(({ kind, key }) => stepKey(kind.name, key)))
  const prunable: (Owned | Creation)[] = [...owned, ...begun].filter(({ name }) => !named.has(name))
  const used = kinds.filter(
    ({ name }) =>
      documents.some(({ kind }) => kind.name === name) || prunable.some((one) => one.name.startsWith(`${name} `)),
  )
  const existing = await readExisting(client, used)
  await requireReferences(client, documents, named, existing)
  const steps: Step[] = []
  for (const kind of used)
    for (const document of documents.filter((one) => one.kind === kind)) {
      const step = stepFor(document, existing.get(stepKey(kind.name, document.key)))
      if (step.action === 'create') requireFields(document)
      if (step.action !== 'keep' && kind.endpoints)
        step.endpoints = await kind.endpoints(client, step.fields, step.found)
      steps.push(step)
    }
  // Objects are deleted before the objects on which they depend.
  for (const kind of used.toReversed())
    for (const one of prunable.filter(({ name }) => name.startsWith(`${kind.name} `))) {
      const found = await findCreated(client, one, existing.all(one.name))
      if (found && !steps.some((step) => step.found === found))
        steps.push({ action: 'delete', kind, key: found.key, fields: found.fields, found, changes: [] })
    }
  return steps
}

/** Returns the object that an earlier apply has created, among the objects with its name. */
async function findCreated(client: Client, created: Owned | Creation, objects: Found[]): Promise<Found | undefined> {
  if ('identity' in created) return objects.find(({ identity }) => identity === created.identity)
  for (const found of objects) if (await isCreatedBy(client, created, found)) return found
  return undefined
}

export async function readExisting(client: Client, used: Kind[]): Promise<ExistingObjects> {
  const existing = new Map<string, Found[]>()
  for (const kind of used)
    for await (const found of kind.list(client)) {
      const name = stepKey(kind.name, found.key)
      existing.set(name, [...(existing.get(name) ?? []), found])
    }
  const all = (name: string) => existing.get(name) ?? []
  return {
    all,
    get(name) {
      const [found, ...others] = all(name)
      if (others.length > 0)
        throw new CommandError(
          `there are ${others.length + 1} objects ${name}; rename all of these objects but one`,
          exitCodes.conflict,
        )
      return found
    },
  }
}

/** Throws if a document refers to an object that neither exists nor is in a document. This is checked before anything is changed. */
async function requireReferences(client: Client, documents: Document[], named: Set<string>, existing: ExistingObjects) {
  const references = documents.flatMap((document) =>
    (document.kind.references?.(document.fields) ?? []).map((name) => ({ document, name })),
  )
  const open = references.filter(({ name }) => !named.has(name) && existing.all(name).length === 0)
  // Kinds without documents have not been read yet. A reference to a type of triggers or actions that is no kind is not checked.
  const others = kinds.filter((kind) => open.some(({ name }) => name.startsWith(`${kind.name} `)))
  const found = await readExisting(client, others)
  const missing = open.find(
    ({ name }) => found.all(name).length === 0 && others.some((kind) => name.startsWith(`${kind.name} `)),
  )
  if (missing === undefined) return
  const { source, kind, key } = missing.document
  const name = visible(missing.name)
  throw new CommandError(
    `${source}: ${kind.name} ${visible(key)} refers to ${name}, which does not exist and is in no document`,
    exitCodes.usage,
  )
}

/** Throws if a field is missing that is needed to create the object. This is checked before anything is changed. */
function requireFields({ kind, key, fields, source }: Document) {
  const missing = kind.fields().find(({ name, required }) => required && (fields[name] ?? null) === null)
  if (missing) throw new CommandError(`${source}: ${kind.name} ${key}: ${missing.name} is required`, exitCodes.usage)
}

function stepFor({ kind, key, fields }: Document, found: Found | undefined): Step {
  if (!found) return { action: 'create', kind, key, fields: withoutNull(fields), changes: [] }
  const after = fieldsAfter(kind, fields, found.fields)
  const changes = Object.keys(fields)
    .filter((field) => !kind.identity.includes(field) && !isSame(kind, field, found.fields[field], after[field]))
    .map((field) => ({ field, from: found.fields[field], to: after[field] }))
  return { action: changes.length > 0 ? 'change' : 'keep', kind, key, fields: after, found, changes }
}

/** Checks that an object has not changed since the plan was made. Used for kinds without ETags. */
export async function requireUnchanged(client: Client, step: Step) {
  checkUnchanged(step, await readExisting(client, [step.kind]))
}

/** Reads the objects of the kinds in these steps. Returns a function that throws if the object of a step has changed since the plan. */
export async function checkOf(client: Client, steps: Step[]): Promise<(step: Step) => void> {
  const existing = await readExisting(client, [...new Set(steps.map(({ kind }) => kind))])
  return (step) => checkUnchanged(step, existing)
}

function checkUnchanged({ kind, key, found: planned }: Step, existing: ExistingObjects) {
  const name = stepKey(kind.name, key)
  const found = planned ? existing.all(name).find(({ identity }) => identity === planned.identity) : existing.get(name)
  const failed = (happened: string) =>
    new CommandError(`${name} was ${happened} since the plan was made; run plan again`, exitCodes.conflict)
  if (!found && planned) throw failed(existing.all(name).length > 0 ? 'replaced by another' : 'deleted')
  if (found && !planned) throw failed('created')
  if (found && planned && !isDeepStrictEqual(found.fields, planned.fields)) throw failed('changed')
}
