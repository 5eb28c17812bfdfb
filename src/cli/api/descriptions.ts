/**
 * Loads the descriptions of the operations of one noun, such as `endpoints`. Loading those of all nouns would add 15 ms to each command,
 * and loading the operation table of the SDK 3 ms.
 */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { existsSync } from './files.ts'

/** Returns the descriptions of the operations of a noun, in the order of the API reference. */
export async function descriptionsOf(noun: string): Promise<Description[]> {
  return Object.values(await textsOf(noun)).map((text) => JSON.parse(text))
}

/** Returns the description of an operation, or undefined if no operation has this name. */
export async function descriptionOf(name: string): Promise<Description | undefined> {
  const texts = await textsOf(name.split('.', 1)[0]!)
  return Object.hasOwn(texts, name) ? JSON.parse(texts[name]!) : undefined
}

/** Returns the names of the operations of a noun, in the order of the API reference. */
export const namesOf = async (noun: string): Promise<string[]> => Object.keys(await textsOf(noun))

/** Returns the descriptions of a noun as JSON, by the names of the operations; none for a word that is no noun of the API. */
async function textsOf(noun: string): Promise<Record<string, string>> {
  if (!/^[a-zA-Z][a-zA-Z0-9]*$/.test(noun)) return {}
  const file = new URL(`../../../sdk/src/described/${noun}.ts`, import.meta.url)
  if (!existsSync(file)) return {}
  const { described } = (await import(file.href)) as { described: Record<string, string> }
  return described
}
