/** Converts between words of the command line and names of operations: `endpoints metadata patch` is `endpoints.metadata.patch`. */
import { dashed } from './dashed.ts'
import { descriptionsOf, namesOf } from './descriptions.ts'

const wordsOf = (name: string) => name.split('.').map(dashed)

/** Returns the noun of the API that a command-line argument names: `api-keys` and `apiKeys` both name `apiKeys`. */
const nounOf = (word: string) => dashed(word).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Finds the operation that the first words name. Also returns the arguments after these words. */
export async function findOperation(args: readonly string[]): Promise<{ name: string; rest: string[] } | undefined> {
  const names = await namesOf(nounOf(args[0] ?? ''))
  const byWords = new Map(names.map((name) => [wordsOf(name).join(' '), name]))
  const wordCount = args.findIndex((word) => word.startsWith('-'))
  const longest = Math.min(wordCount < 0 ? args.length : wordCount, 4)
  for (let length = longest; length >= 1; length--) {
    const name = byWords.get(args.slice(0, length).map(dashed).join(' '))
    if (name !== undefined) return { name, rest: args.slice(length) }
  }
  return undefined
}

/** Returns how many of the first words are the beginning of an operation's name. */
export async function knownWords(words: readonly string[]): Promise<number> {
  const names = (await namesOf(nounOf(words[0] ?? ''))).map(wordsOf)
  let count = words.length
  while (count > 0 && !names.some((name) => startsWith(name, words.slice(0, count)))) count--
  return count
}

/** Lists the operations of a noun, or only the operations that start with the given words, with their summaries. */
export async function operationsBelow(words: readonly string[]): Promise<{ words: string; summary: string }[]> {
  const described = await descriptionsOf(nounOf(words[0] ?? ''))
  return described
    .filter(({ name }) => startsWith(wordsOf(name), words))
    .map(({ name, summary }) => ({ words: wordsOf(name).join(' '), summary }))
}

const startsWith = (name: string[], words: readonly string[]) =>
  words.every((word, index) => name[index] === dashed(word))
