/** The difference between two texts, line by line. */

export interface DifferenceLine {
  kind: 'same' | 'removed' | 'added'
  text: string
}

/**
 * Maximum number of cells in the table of the comparison: old lines multiplied by new lines. If there would be more cells, all differing
 * lines are shown as removed and added.
 */
const cellsMax = 1_000_000

export function lineDifference(before: string, after: string): DifferenceLine[] {
  const old = before.split('\n')
  const now = after.split('\n')
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return [
    ...linesOf('same', old.slice(0, start)),
    ...middleOf(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...linesOf('same', old.slice(old.length - end)),
  ]
}

const linesOf = (kind: DifferenceLine['kind'], lines: string[]): DifferenceLine[] =>
  lines.map((text) => ({ kind, text }))

/** Compares the lines by their longest common subsequence. */
function middleOf(old: string[], now: string[]): DifferenceLine[] {
  if (old.length * now.length > cellsMax) return [...linesOf('removed', old), ...linesOf('added', now)]
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j]!
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      lengths[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: DifferenceLine[] = []
  let i = 0
  let j = 0
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push({ kind: 'same', text: old[i++]! })
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push({ kind: 'removed', text: old[i++]! })
    else lines.push({ kind: 'added', text: now[j++]! })
  }
  return [...lines, ...linesOf('removed', old.slice(i)), ...linesOf('added', now.slice(j))]
}
