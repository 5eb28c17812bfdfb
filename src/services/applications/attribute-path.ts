/**
 * Evaluates a subset of GJSON paths: keys separated by dots, wildcards `*` and `?`, array indexes, `#` (array length),
 * `#.rest` (the rest of the path in each element), `\` as escape, and `@this` alone. Other syntax is rejected with 400.
 */
import { invalidField } from '../../kernel/errors.ts'

/** A character of a key, or a wildcard for one character (`?`) or any number of characters (`*`). */
type PatternUnit = string | typeof anyOne | typeof anyNumber
const anyOne = Symbol('?')
const anyNumber = Symbol('*')

interface Step {
  key: string
  /** Only set for a key with wildcards. */
  pattern?: PatternUnit[]
  /** True for an unescaped `#`. */
  isEach: boolean
}

const unsupported = (what: string) => invalidField('q', `${what} of GJSON is not supported here`)

/** Limits character comparisons, because many `*` over long keys would block the event loop. */
const comparisonsMax = 10_000_000

/** Returns the value at the path, or undefined. */
export function select(data: unknown, path: string): unknown {
  if (path === '@this') return data
  const steps = stepsOf(path)
  let left = comparisonsMax
  const spend = (comparisons: number) => {
    left -= comparisons
    if (left < 0) throw invalidField('q', 'this path takes too long: name more of it')
  }

  function at(value: unknown, depth: number): unknown {
    const step = steps[depth]
    if (!step) return value
    if (Array.isArray(value)) return step.isEach ? each(value, depth + 1) : atIndex(value, step, depth + 1)
    if (typeof value !== 'object' || value === null) return undefined
    const object = value as Record<string, unknown>
    if (step.pattern) return firstMatch(object, step.pattern, depth + 1)
    return Object.hasOwn(object, step.key) ? at(object[step.key], depth + 1) : undefined
  }

  /** Returns the number of elements, or the values of the rest of the path in those elements that have it. */
  const each = (array: unknown[], depth: number) =>
    depth === steps.length
      ? array.length
      : array.map((element) => at(element, depth)).filter((found) => found !== undefined)

  const atIndex = (array: unknown[], { key, pattern }: Step, depth: number) =>
    !pattern && /^\d{1,9}$/.test(key) && Number(key) < array.length ? at(array[Number(key)], depth) : undefined

  /** Returns the value of the first matching key under which the rest of the path exists. */
  function firstMatch(object: Record<string, unknown>, pattern: PatternUnit[], depth: number): unknown {
    for (const [key, value] of Object.entries(object)) {
      if (!matches(pattern, [...key], spend)) continue
      const found = at(value, depth)
      if (found !== undefined) return found
    }
    return undefined
  }

  return at(data, 0)
}

function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  let units: PatternUnit[] = []
  let isEscaped = false
  let source = ''
  const end = () => {
    const key = units.filter((unit) => typeof unit === 'string').join('')
    const isWild = units.some((unit) => typeof unit === 'symbol')
    steps.push({ key, isEach: source === '#', ...(isWild && { pattern: units }) })
    units = []
    source = ''
  }
  for (const character of path) {
    if (isEscaped) {
      units.push(character)
      isEscaped = false
    } else if (character === '.') {
      end()
      continue
    } else if (character === '\\') isEscaped = true
    else {
      refuseUnsupported(source, character)
      units.push(character === '*' ? anyNumber : character === '?' ? anyOne : character)
    }
    source += character
  }
  end()
  return steps
}

const special: Record<string, string> = { '@': 'a modifier', '!': 'a literal', '{': 'a multipath', '[': 'a multipath' }

function refuseUnsupported(before: string, character: string) {
  if (character === '|') throw unsupported('a pipe')
  if (before === '#' && (character === '(' || character === '[')) throw unsupported('a query')
  if (before === '' && special[character]) throw unsupported(special[character])
}

/** Matches wildcards by backtracking to the last `*` only, which is sufficient. */
function matches(pattern: PatternUnit[], text: string[], spend: (comparisons: number) => void): boolean {
  let [p, t, star, mark] = [0, 0, -1, 0]
  let comparisons = 0
  while (t < text.length) {
    if (++comparisons === 1000) {
      spend(comparisons)
      comparisons = 0
    }
    const unit = pattern[p]
    if (unit === anyNumber) {
      star = p++
      mark = t
    } else if (unit === anyOne || unit === text[t]) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++mark
    } else break
  }
  spend(comparisons)
  while (pattern[p] === anyNumber) p++
  return t === text.length && p === pattern.length
}
