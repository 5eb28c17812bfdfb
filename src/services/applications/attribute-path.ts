/**
 * Evaluates a subset of GJSON paths: keys separated by dots, wildcards `*` and `?`, array indexes, `#` (array length), `#.rest` (the rest
 * of the path in each element), `\` as escape, and `@this` alone. Any other syntax is rejected with 400.
 */
import { invalidField } from '../../kernel/errors.ts'

/** A character of a key, or a wildcard for one character (`?`) or any number of characters (`*`). */
type PatternUnit = string | typeof anyCharacter | typeof anyCharacters
const anyCharacter = Symbol('?')
const anyCharacters = Symbol('*')

interface Step {
  key: string
  /** The characters and wildcards of the key. Present only for a key with wildcards. */
  pattern?: PatternUnit[]
  /** True if the key is an unescaped `#`, which counts the elements of an array, or applies the rest of the path to each element. */
  isEach: boolean
}

const unsupported = (feature: string) => invalidField('q', `${feature} of GJSON is not supported here`)

/** Maximum number of character comparisons, because many `*` over long keys would block the event loop. */
const comparisonsMax = 10_000_000

/** Returns the value at the path, or undefined. */
export function select(data: unknown, path: string): unknown {
  if (path === '@this') return data
  const steps = stepsOf(path)
  let comparisonsLeft = comparisonsMax
  const countComparisons = (comparisons: number) => {
    comparisonsLeft -= comparisons
    if (comparisonsLeft < 0) throw invalidField('q', 'evaluating this path takes too long; use a more specific path')
  }

  function valueAt(value: unknown, depth: number): unknown {
    const step = steps[depth]
    if (!step) return value
    if (Array.isArray(value))
      return step.isEach ? ofEachElement(value, depth + 1) : valueAtIndex(value, step, depth + 1)
    if (typeof value !== 'object' || value === null) return undefined
    const object = value as Record<string, unknown>
    if (step.pattern) return firstMatchingValue(object, step.pattern, depth + 1)
    return Object.hasOwn(object, step.key) ? valueAt(object[step.key], depth + 1) : undefined
  }

  /**
   * Returns the number of elements if the path ends here. Otherwise evaluates the rest of the path in each element, and returns the values
   * that it finds.
   */
  const ofEachElement = (array: unknown[], depth: number) =>
    depth === steps.length
      ? array.length
      : array.map((element) => valueAt(element, depth)).filter((found) => found !== undefined)

  const valueAtIndex = (array: unknown[], { key, pattern }: Step, depth: number) =>
    !pattern && /^\d{1,9}$/.test(key) && Number(key) < array.length ? valueAt(array[Number(key)], depth) : undefined

  /** Returns the value of the first matching key under which the rest of the path exists. */
  function firstMatchingValue(object: Record<string, unknown>, pattern: PatternUnit[], depth: number): unknown {
    for (const [key, value] of Object.entries(object)) {
      if (!matches(pattern, [...key], countComparisons)) continue
      const rest = valueAt(value, depth)
      if (rest !== undefined) return rest
    }
    return undefined
  }

  return valueAt(data, 0)
}

function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  let units: PatternUnit[] = []
  let isEscaped = false
  let source = ''
  const finishStep = () => {
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
      finishStep()
      continue
    } else if (character === '\\') isEscaped = true
    else {
      rejectUnsupported(source, character)
      units.push(character === '*' ? anyCharacters : character === '?' ? anyCharacter : character)
    }
    source += character
  }
  finishStep()
  return steps
}

const unsupportedStarts: Record<string, string> = {
  '@': 'a modifier',
  '!': 'a literal',
  '{': 'a multipath',
  '[': 'a multipath',
}

function rejectUnsupported(stepSoFar: string, character: string) {
  if (character === '|') throw unsupported('a pipe')
  if (stepSoFar === '#' && (character === '(' || character === '[')) throw unsupported('a query')
  if (stepSoFar === '' && unsupportedStarts[character]) throw unsupported(unsupportedStarts[character])
}

/** Returns whether the text matches. After a mismatch only the last `*` takes one more character; retrying an earlier `*` cannot help. */
function matches(pattern: PatternUnit[], text: string[], spend: (comparisons: number) => void): boolean {
  let [patternIndex, textIndex, lastStar, retryFrom] = [0, 0, -1, 0]
  let comparisons = 0
  while (textIndex < text.length) {
    if (++comparisons === 1000) {
      spend(comparisons)
      comparisons = 0
    }
    const unit = pattern[patternIndex]
    if (unit === anyCharacters) {
      lastStar = patternIndex++
      retryFrom = textIndex
    } else if (unit === anyCharacter || unit === text[textIndex]) {
      patternIndex++
      textIndex++
    } else if (lastStar >= 0) {
      patternIndex = lastStar + 1
      textIndex = ++retryFrom
    } else break
  }
  spend(comparisons)
  while (pattern[patternIndex] === anyCharacters) patternIndex++
  return textIndex === text.length && patternIndex === pattern.length
}
