/** A range of code points; it includes both ends. */
export type Range = readonly [from: number, to: number]
/** A set of characters: sorted ranges that do not overlap. */
export type CharacterSet = readonly Range[]

const lastCodePoint = 0x10ffff

export const singleCharacter = (codePoint: number): CharacterSet => [[codePoint, codePoint]]

export function union(...sets: CharacterSet[]): CharacterSet {
  const sorted = sets.flat().sort((a, b) => a[0] - b[0])
  const result: [number, number][] = []
  for (const [from, to] of sorted) {
    const last = result.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else result.push([from, to])
  }
  return result
}

export function complement(set: CharacterSet): CharacterSet {
  const result: Range[] = []
  let next = 0
  for (const [from, to] of set) {
    if (from > next) result.push([next, from - 1])
    next = to + 1
  }
  if (next <= lastCodePoint) result.push([next, lastCodePoint])
  return result
}

const ranges = (...pairs: string[]): CharacterSet =>
  union(pairs.map((pair) => [pair.codePointAt(0)!, pair.codePointAt(pair.length - 1)!] as const))

const digit = ranges('09')
const word = ranges('09', 'AZ', 'az', '_')
const space = ranges('\t\r', ' ')

/** Character classes contain only ASCII characters, as in PCRE and RE2. PostgreSQL's own classes depend on its locale. */
export const escapedClasses: Record<string, CharacterSet> = {
  d: digit,
  D: complement(digit),
  w: word,
  W: complement(word),
  s: space,
  S: complement(space),
}

export const namedClasses: Record<string, CharacterSet> = {
  alnum: ranges('09', 'AZ', 'az'),
  alpha: ranges('AZ', 'az'),
  ascii: ranges('\0\x7f'),
  blank: ranges('\t', ' '),
  cntrl: ranges('\0\x1f', '\x7f'),
  digit,
  graph: ranges('!~'),
  lower: ranges('az'),
  print: ranges(' ~'),
  punct: ranges('!/', ':@', '[`', '{~'),
  space,
  upper: ranges('AZ'),
  word,
  xdigit: ranges('09', 'AF', 'af'),
}

export const newline = singleCharacter(10)
export const notNewline = complement(newline)
export const anything = complement([])

let variants: Map<number, number[]> | undefined

/** Maps each letter to the letters that differ from it only in case (Unicode simple case folding, as with the flags `iu`). */
function caseVariants(): Map<number, number[]> {
  if (variants) return variants
  const groups = new Map<string, number[]>()
  // No script above U+1E943 has two cases.
  for (let codePoint = 0; codePoint <= 0x1e943; codePoint++) {
    const text = String.fromCodePoint(codePoint)
    const folded = text.toLowerCase().toUpperCase().toLowerCase()
    if (folded === text && text.toUpperCase() === text) continue
    const group = groups.get(folded)
    if (group) group.push(codePoint)
    else groups.set(folded, [codePoint])
  }
  variants = new Map()
  for (const group of groups.values())
    for (const letter of group) {
      const same = new RegExp(`^\\u{${letter.toString(16)}}$`, 'iu')
      const others = group.filter((other) => other !== letter && same.test(String.fromCodePoint(other)))
      if (others.length) variants.set(letter, others)
    }
  return variants
}

export function ignoreCase(set: CharacterSet): CharacterSet {
  const added: Range[] = []
  const contains = (codePoint: number) => set.some(([from, to]) => from <= codePoint && codePoint <= to)
  for (const [letter, others] of caseVariants())
    if (contains(letter)) for (const other of others) added.push([other, other])
  return added.length ? union(set, added) : set
}
