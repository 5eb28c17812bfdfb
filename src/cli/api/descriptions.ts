/** Loads the descriptions of one noun. Those of all nouns would take 15 ms of each command. */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { table } from '../../../sdk/src/table.ts'

/** Returns the descriptions of the operations of a noun, in the order of the API reference. */
export async function descriptionsOf(noun: string): Promise<Description[]> {
  if (!Object.hasOwn(table, noun)) return []
  const { described } = (await import(`../../../sdk/src/described/${noun}.ts`)) as { described: Record<string, string> }
  return Object.values(described).map((text) => JSON.parse(text))
}

/** Returns the description of an operation; undefined if there is none with this name. */
export async function descriptionOf(name: string): Promise<Description | undefined> {
  return (await descriptionsOf(name.split('.', 1)[0]!)).find((description) => description.name === name)
}
