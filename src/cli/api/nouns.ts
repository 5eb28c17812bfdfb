/** Lists the nouns of the API from the small table of the SDK, because help must not load the descriptions of all operations. */
import { table } from '../../../sdk/src/table.ts'
import { dashed } from './dashed.ts'

export const nouns = (): string[] => Object.keys(table).map(dashed)

const lineLength = 100

/** Returns lines with the nouns, several in each line. */
export function nounLines(): string[] {
  const lines: string[] = []
  let line = ''
  for (const noun of nouns()) {
    if (line !== '' && line.length + noun.length + 2 > lineLength) {
      lines.push(`  ${line},`)
      line = ''
    }
    line += line === '' ? noun : `, ${noun}`
  }
  return [...lines, `  ${line}`]
}
