/** Finds the ids of objects, for `-o id`: the values with which other commands of the same noun name the objects. */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { descriptionOf } from './descriptions.ts'
import { visible } from './visible.ts'

/** Where to find the ids of the objects that an operation returns. */
export interface IdSource {
  /** The name of the main objects of the noun: `command` for `commands`. */
  objectName: string
  /** The argument of other operations that names one of the objects, such as `appName`; absent if there is none. */
  argument: string | undefined
}

/** Returns the source of ids for the objects of an operation. */
export async function idSourceOf({ name }: Pick<Description, 'name'>): Promise<IdSource> {
  const noun = name.slice(0, name.lastIndexOf('.'))
  const pathOf = async (verb: string) =>
    (await descriptionOf(`${noun}.${verb}`))?.arguments.filter((item) => item.in === 'path').map((item) => item.name)
  // The path of the list names the objects that contain the listed ones.
  const containers = (await pathOf('list')) ?? []
  const single = (await pathOf('get')) ?? (await pathOf('delete')) ?? (await pathOf('update')) ?? []
  const argument = single.at(-1)
  return {
    objectName: noun.split('.')[0]!.replace(/s$/, ''),
    argument: argument === undefined || containers.includes(argument) ? undefined : argument,
  }
}

/** Returns the ids of the objects in a response. A response without an id, but with lists of objects, yields the ids of these objects. */
export function idsOf(value: unknown, source: IdSource): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => idsOf(item, source))
  if (typeof value !== 'object' || value === null) return value === undefined || value === null ? [] : [textOf(value)]
  const entries = Object.entries(value).filter(([, field]) => field !== undefined && field !== null)
  const scalars = entries.filter(([, field]) => typeof field !== 'object')
  const names = scalars.map(([name]) => name)
  const found = idField(names, source)
  if (found !== undefined) return [textOf((value as Record<string, unknown>)[found])]
  const inner = entries.filter(([, field]) => Array.isArray(field) || entries.length === 1).map(([, field]) => field)
  const ids = inner.flatMap((field) => idsOf(field, source))
  return ids.length > 0 || scalars.length === 0 ? ids : [textOf(scalars[0]![1])]
}

/** Returns the field with the id: `id`, a field with the name of the argument or of its end, any other field with an id, or the name. */
function idField(names: string[], { objectName, argument = '' }: IdSource): string | undefined {
  const end = argument.toLowerCase()
  return (
    [`id`, `${objectName}Id`, argument].find((name) => names.includes(name)) ??
    names.find((name) => end.endsWith(name.toLowerCase())) ??
    names.find((name) => /(Id|ID)$/.test(name) && name !== 'tenantId') ??
    names.find((name) => name === 'name')
  )
}

const textOf = (value: unknown) => visible(String(value))
