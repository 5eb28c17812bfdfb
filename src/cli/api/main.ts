/** Runs the words of a command line that name an operation of the API. */
import { closest } from 'fastest-levenshtein'
import { describe } from '../../../sdk/src/descriptions.ts'
import { callOperation } from './call.ts'
import { dashed } from './dashed.ts'
import { helpOfNoun, helpOfOperation } from './help.ts'
import { findOperation, operationsBelow } from './names.ts'
import { nouns } from './nouns.ts'
import { visible } from './visible.ts'

/** `commands` are the names of all other commands, to suggest the one that may have been mistyped. */
export async function runOperation(words: string[], asksForHelp: boolean, commands: string[]): Promise<number> {
  const operation = findOperation(words)
  if (operation && asksForHelp) {
    process.stdout.write(helpOfOperation(describe(operation.name)!))
    return 0
  }
  if (operation) {
    await callOperation(operation.name, operation.rest)
    return 0
  }
  const [noun = ''] = words
  if (!nouns().includes(dashed(noun))) {
    const nearest = closest(noun, [...commands, ...nouns()])
    process.stderr.write(
      `waypost: there is no command ${visible(noun)}; the nearest is ${nearest}. waypost help lists all\n`,
    )
    return 2
  }
  const given = words.filter((word) => !word.startsWith('-'))
  let known = given.length
  while (operationsBelow(given.slice(0, known)).length === 0) known--
  process[asksForHelp ? 'stdout' : 'stderr'].write(helpOfNoun(given.slice(0, known)))
  return asksForHelp ? 0 : 2
}
