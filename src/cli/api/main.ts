/** Runs a command line that names an operation of the API. */
import { callOperation } from './call.ts'
import { dashed } from './dashed.ts'
import { descriptionOf } from './descriptions.ts'
import { findOperation, knownWords } from './names.ts'
import { visible } from './visible.ts'

/** Runs the operation that the words name, or prints its help. `commands`: the commands that are no operations, to suggest after a typo. */
export async function runOperation(words: string[], asksForHelp: boolean, commands: string[]): Promise<number> {
  const operation = await findOperation(words)
  if (operation && !asksForHelp) {
    await callOperation((await descriptionOf(operation.name))!, operation.rest)
    return 0
  }
  const { helpOfNoun, helpOfOperation } = await import('./help.ts')
  if (operation) {
    process.stdout.write(helpOfOperation((await descriptionOf(operation.name))!))
    return 0
  }
  const { nouns } = await import('./nouns.ts')
  const [noun = ''] = words
  if (!nouns().includes(dashed(noun))) {
    const { closest } = await import('fastest-levenshtein')
    const nearest = closest(noun, [...commands, ...nouns()])
    process.stderr.write(
      `waypost: there is no command ${visible(noun)}; the nearest is ${nearest}. waypost help lists all\n`,
    )
    return 2
  }
  const nounWords = words.filter((word) => !word.startsWith('-'))
  const known = nounWords.slice(0, await knownWords(nounWords))
  const help = await helpOfNoun(known)
  if (asksForHelp) {
    process.stdout.write(help)
    return 0
  }
  const unknown = nounWords[known.length]
  const problem =
    unknown === undefined ? 'expected one of these' : `${known.join(' ')} has no ${visible(unknown)}, only these`
  process.stderr.write(`waypost: ${problem}:\n\n${help}`)
  return 2
}
