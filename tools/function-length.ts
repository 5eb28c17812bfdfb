/** Finds functions that are longer than the limit. */

export const functionLinesMax = 100

const opensFunction = /=>(?: [{([]+)?$|\)(?:: .*)? \{$|\bfunction\b.*\{$/
const opensBlock = /^\s*(?:\} )?(?:if|for|while|switch|else|try|do|catch)\b/
const isComment = /^\s*(?:\/?\*|\/\/)/
/** A suite only groups tests, so its length does not count. */
const opensSuite = /\b(?:suite|describe)(?:\.\w+)?\(/

const indentOf = (line: string) => line.length - line.trimStart().length

export interface LongFunction {
  /** Number of the line that opens its body, from 1. */
  line: number
  lines: number
}

/** Finds long functions. The formatter indents bodies, so a body ends at the next line that is indented no further than its start. */
export function longFunctions(text: string): LongFunction[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (!opensFunction.test(line) || opensBlock.test(line) || isComment.test(line) || opensSuite.test(line)) return []
    let end = index + 1
    while (end < lines.length && (lines[end]!.trim() === '' || indentOf(lines[end]!) > indentOf(line))) end++
    if (/^\s*[}\])]/.test(lines[end] ?? '')) end++
    else while (lines[end - 1]!.trim() === '') end--
    const count = end - index
    return count > functionLinesMax ? [{ line: index + 1, lines: count }] : []
  })
}

/** Returns the problems that `npm run check` reports. */
export function lengthProblems(file: string, text: string): string[] {
  return longFunctions(text).map(
    ({ line, lines }) => `${file}:${line}: a function has ${lines} lines; the maximum is ${functionLinesMax}`,
  )
}
