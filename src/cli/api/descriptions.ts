/** Loads the descriptions of one noun. Loading the descriptions of all nouns would add 15 ms to each command. */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { table } from '../../../sdk/src/table.ts'

/** Returns the descriptions of the operations of a noun, in the order of the API reference. */
export async function descriptionsOf(noun: string): Promise<Description[]> {
  return Object.values(await textsOf(noun)).map((text) => JSON.parse(text))
}

/** Returns the description of an operation, or undefined if there is none with this name. */
export async function descriptionOf(name: string): Promise<Description | undefined> {
  const texts = await textsOf(name.split('.', 1)[0]!)
  return Object.hasOwn(texts, name) ? JSON.parse(texts[name]!) : undefined
}

/** Returns the descriptions of a noun as JSON, by the names of the operations. */
async function textsOf(noun: string): Promise<Record<string, string>> {
  if (!Object.hasOwn(table, noun)) return {}
  const { described } = (await import(`../../../sdk/src/described/${noun}.ts`)) as { described: Record<string, string> }
  return described
}
