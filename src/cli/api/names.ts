/** Words of the command line and names of operations: `endpoints metadata patch` is `endpoints.metadata.patch`. */
import { describe, operationNames } from '../../../sdk/src/descriptions.ts'
import { dashed } from './dashed.ts'

const wordsOf = (name: string) => name.split('.').map(dashed)

/** Names of operations by their words. `apiKeys.list` is found as `api-keys list` and as `apiKeys list`. */
const byWords = new Map(operationNames().map((name) => [wordsOf(name).join(' '), name]))

/** Finds the operation that the first words name, and the arguments after them. */
export function findOperation(args: readonly string[]): { name: string; rest: string[] } | undefined {
  const wordCount = args.findIndex((word) => word.startsWith('-'))
  const longest = Math.min(wordCount < 0 ? args.length : wordCount, 4)
  for (let length = longest; length >= 1; length--) {
    const name = byWords.get(args.slice(0, length).map(dashed).join(' '))
    if (name !== undefined) return { name, rest: args.slice(length) }
  }
  return undefined
}

/** Lists the operations of a noun, or of the words that follow it, with their summaries. */
export function operationsBelow(words: readonly string[]): { words: string; summary: string }[] {
  const prefix = words.map(dashed)
  return operationNames()
    .filter((name) => prefix.every((word, index) => wordsOf(name)[index] === word))
    .map((name) => ({ words: wordsOf(name).join(' '), summary: describe(name)!.summary }))
}
