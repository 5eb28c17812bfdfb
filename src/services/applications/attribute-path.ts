/**
 * The part of GJSON's path syntax that devices use: keys with dots between them, `*` and `?` in a key, the index of an array,
 * `#` for its length, `#.rest` for the rest of the path in each element, `\` before a character that means itself, and
 * `@this` alone for everything. Queries, other modifiers, pipes and multipaths are refused, not misread.
 */
import { invalidField } from '../../kernel/errors.ts'

/** A character of a key, or what stands for one (`?`) or any number of them (`*`). */
type Unit = string | typeof anyOne | typeof anyNumber
const anyOne = Symbol('?')
const anyNumber = Symbol('*')

interface Step {
  key: string
  /** With wildcards in it, only. */
  pattern?: Unit[]
  /** `#` that is not escaped. */
  isEach: boolean
}

const unsupported = (what: string) => invalidField('q', `${what} of GJSON is not supported here`)

/** Of characters compared: a path of stars over long keys must not hold up everybody else. */
const comparisonsMax = 10_000_000

/** The value at the path, or undefined. */
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

  /** The number of elements, or what the rest of the path finds in those that have it. */
  const each = (array: unknown[], depth: number) =>
    depth === steps.length
      ? array.length
      : array.map((element) => at(element, depth)).filter((found) => found !== undefined)

  const atIndex = (array: unknown[], { key, pattern }: Step, depth: number) =>
    !pattern && /^\d{1,9}$/.test(key) && Number(key) < array.length ? at(array[Number(key)], depth) : undefined

  /** The first key under which the rest of the path leads somewhere. */
  function firstMatch(object: Record<string, unknown>, pattern: Unit[], depth: number): unknown {
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
  let units: Unit[] = []
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

/** Goes back to the last star only: what an earlier one took can stay as it is. */
function matches(pattern: Unit[], text: string[], spend: (comparisons: number) => void): boolean {
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
