/** A kind of object that `waypost apply` can create, change and delete, and the operations of the API that it uses. */
import { describe } from '../../../sdk/src/descriptions.ts'
import type { Client } from '../../../sdk/src/index.ts'
import { withFields } from '../api/connection.ts'
import { CommandError } from '../api/errors.ts'

/** Fields of an object, as in the documents of `apply`. */
export type Fields = Record<string, unknown>

/** An object that exists. */
export interface Found {
  key: string
  /**
   * Distinguishes the object from one that is later created with the same name: its id, or the time of its creation if the API identifies
   * objects of this kind by name.
   */
  identity: string
  /** Arguments that identify the object in the API. */
  args: Fields
  fields: Fields
  /** Absent if the API has no ETags for this kind. */
  etag?: string | undefined
}

export interface CreateOptions {
  correlationId: string
}

export interface KindField {
  name: string
  required: boolean
}

export interface Kind {
  /** The name of the kind in documents: `application`. */
  name: string
  /** Returns the key of a document: its name, preceded by the names of the objects that contain it. */
  keyOf(fields: Fields): string
  /** Returns the fields of a document in the form in which `list` yields them. Default: unchanged. */
  normalize?(fields: Fields): Fields
  /** Fields that a document can have. */
  fields(): readonly KindField[]
  /** Fields that identify the object. All other fields can change. */
  identity: readonly string[]
  /** Values that the platform stores for fields that are absent. */
  defaults?: Fields
  /** Fields with lists whose order and repeated values have no meaning. */
  sets?: readonly string[]
  /** Returns the names of the objects to which this object refers, as plans show them: `application meadow`. */
  references?(fields: Fields): string[]
  /** Yields all objects of the kind, with their fields. */
  list(client: Client): AsyncIterable<Found>
  /** Creates the object with exactly one request, which has this correlation id. The audit log shows by the id whether it succeeded. */
  create(client: Client, fields: Fields, options: CreateOptions): Promise<void>
  update(client: Client, found: Found, fields: Fields): Promise<void>
  /**
   * Sets references to other objects of the documents. It is called when all objects exist, for each object that was created or changed.
   */
  complete?(client: Client, fields: Fields): Promise<void>
  delete(client: Client, found: Found): Promise<void>
  /** Returns how many endpoints the creation or change of the object affects, or undefined if the number is not known. */
  endpoints?(client: Client, fields: Fields, found: Found | undefined): Promise<number | undefined>
}

/** Returns the name of an object in plans and reports. */
export const stepKey = (kind: string, key: string) => `${kind} ${key}`

export const textField = (kind: string, fields: Fields, name: string): string => {
  const value = fields[name]
  if (typeof value === 'string' && value !== '') return value
  if (value === undefined || value === null || value === '')
    throw new CommandError(`${kind}: ${name} is missing; every ${kind} has one`, 2)
  throw new CommandError(`${kind}: ${name}: expected text; put a number into quotes`, 2)
}

/** Returns the id of the only object with this name. Throws if no object or several objects have the name. */
export function idByName(objectNoun: string, objects: { id: string; name: string }[], name: string): string {
  const [found, ...others] = objects.filter((one) => one.name === name)
  if (!found) throw new CommandError(`there is no ${objectNoun} named ${name}`)
  if (others.length > 0) throw new CommandError(`several ${objectNoun}s are named ${name}; rename one`)
  return found.id
}

/** Returns those fields of an object that the body of an operation accepts. */
export function fieldsFor(operation: string, item: Fields): Fields {
  const names = bodyFields(operation).map(({ name }) => name)
  return Object.fromEntries(
    names.filter((name) => item[name] !== undefined && item[name] !== null).map((name) => [name, item[name]]),
  )
}

/** Returns the fields that the body of an operation can have. */
export const bodyFields = (operation: string): KindField[] =>
  (describe(operation)?.body?.fields ?? []).map(({ name, required }) => ({ name, required }))

export const required = (name: string): KindField => ({ name, required: true })

interface Described {
  name: string
  /** The noun of the kind's operations, such as `applications`. */
  noun: string
  /** The field with the name of the object. Default: `name`. */
  nameField?: string
  /** The argument of operations that identifies one object. Default: the last argument of the path. */
  idArgument?: string
  /** The field with the id. Default: `id`. */
  idField?: string
  /** Returns false for built-in objects of the platform. */
  isOwn?(item: Fields): boolean
  /** Yields arguments for list and create, one set for each containing object. Default: none. */
  parents?(client: Client): AsyncIterable<Fields>
  endpoints?: Kind['endpoints']
}

/** Creates a kind for a noun that has the operations list, get, create, update or patch, and delete. */
export function kindOf(described: Described): Kind {
  const { name, noun, nameField = 'name', idField = 'id', isOwn = () => true } = described
  const parentFields = described.parents ? ['applicationName'] : []
  const identity = [...parentFields, nameField]
  const idArgument =
    described.idArgument ?? describe(`${noun}.get`)!.arguments.findLast((item) => item.in === 'path')!.name
  const change = describe(`${noun}.update`) ? `${noun}.update` : `${noun}.patch`
  const keyOf = (fields: Fields) => identity.map((field) => textField(name, fields, field)).join('/')
  const identityOf = (body: Fields) => (idField === nameField ? createdAt(body) : String(body[idField]))

  return {
    name,
    fields: () => [...parentFields.map(required), ...bodyFields(`${noun}.create`)],
    identity,
    keyOf,
    ...(described.endpoints && { endpoints: described.endpoints }),
    ...(described.parents && {
      references: (fields) => [stepKey('application', textField(name, fields, 'applicationName'))],
    }),
    async *list(client) {
      for await (const parent of described.parents?.(client) ?? single({}))
        for await (const item of client.list<Fields>(`${noun}.list`, parent)) {
          if (!isOwn(item)) continue
          const args = { ...parent, [idArgument]: withFields(`${noun}.list`, item, idField)[idField] }
          const answer = await client.call(`${noun}.get`, args)
          const { etag } = answer
          const body = withFields(`${noun}.get`, answer.body as Fields, nameField)
          const fields = { ...parent, ...fieldsFor(`${noun}.create`, body) }
          yield { key: keyOf(fields), identity: identityOf(body), args, fields, etag }
        }
    },
    async create(client, fields, options) {
      const { applicationName, ...body } = fields
      const args = described.parents ? { applicationName } : {}
      await client.call(`${noun}.create`, { ...args, body: described.parents ? body : fields }, options)
    },
    async update(client, { args, etag, fields: present }, fields) {
      if (change.endsWith('.patch')) requireNoRemoval(name, present, fields)
      const body = fieldsFor(change, fields)
      const ifMatch = describe(change)!.conditions.includes('ifMatch') ? etag : undefined
      const answer = await client.call(change, { ...args, body }, ifMatch === undefined ? {} : { ifMatch })
      requireVersion(answer, name, keyOf(fields))
    },
    async delete(client, { args }) {
      await client.call(`${noun}.delete`, args)
    },
  }
}

/** Returns the time at which an object was created. */
export function createdAt({ createdDate, createdAt: time = createdDate }: Fields): string {
  if (typeof time === 'string') return time
  throw new CommandError('The platform does not say when an object was created; its version is older than this program')
}

/** Throws if the change would remove a field, because the API of this kind cannot remove fields. */
export function requireNoRemoval(kind: string, present: Fields, fields: Fields) {
  const removed = Object.keys(present).find((field) => fields[field] === undefined)
  if (removed !== undefined)
    throw new CommandError(`${removed}: the ${removed} of ${articleOf(kind)} ${kind} can be changed but not removed`)
}

const articleOf = (word: string) => (/^[aeiou]/.test(word) ? 'an' : 'a')

/** Throws if an answer shows that the object has changed since the plan was made. */
export function requireVersion({ status }: { status: number }, kind: string, key: string) {
  if (status === 412) throw changedSincePlan(kind, key)
}

export const changedSincePlan = (kind: string, key: string) =>
  new CommandError(`${kind} ${key} was changed since the plan was made; run plan again`, 5)

async function* single(fields: Fields) {
  yield fields
}
