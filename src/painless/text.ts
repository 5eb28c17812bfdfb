import { keysOf, sortedItems } from './collections.ts'
import { JavaThrow } from './errors.ts'
import { allocateText, steps } from './meter.ts'
import { type Box, isJavaArray, javaClassOf, marksOf } from './values.ts'

/** Prints a double as Java does: with at least one digit after the point, and with an exponent (`E`) from 10^7 on and below 10^-3. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (value === Infinity) return 'Infinity'
  if (value === -Infinity) return '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  return decimalText(value, value.toExponential())
}

/** Prints a float with the fewest digits from which the same float can be parsed. */
export function floatText(value: number): string {
  if (!Number.isFinite(value) || value === 0) return doubleText(value)
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return decimalText(value, text)
  }
  return decimalText(value, value.toExponential())
}

function decimalText(value: number, exponential: string): string {
  const size = Math.abs(value)
  const [mantissa = '', exponentText = '0'] = exponential.split('e')
  const exponent = Number(exponentText)
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace('-', '').replace('.', '').replace(/0+$/, '') || '0'
  if (size >= 1e-3 && size < 1e7) {
    if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
    const padded = digits.padEnd(exponent + 1, '0')
    return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || '0'}`
  }
  return `${sign}${digits[0]}.${digits.slice(1) || '0'}E${exponent}`
}

const textDepthMax = 100

/** Returns the text of a reference as `String.valueOf` does. */
export function textOf(value: unknown, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return (value | 0) === value ? String(value) : doubleText(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'function':
      return `${javaClassOf(value)}@lambda`
  }
  if (value === null || value === undefined) return 'null'
  if (depth > textDepthMax) throw new JavaThrow('java.lang.StackOverflowError', 'The value is nested too deeply.', true)
  steps(1)
  return objectText(value as object, depth + 1)
}

export function boxText(box: Box): string {
  switch (box.box) {
    case 'double':
      return doubleText(box.value)
    case 'float':
      return floatText(box.value)
    case 'char':
      return String.fromCharCode(box.value)
    default:
      return String(box.value)
  }
}

/** Counts the memory of a part before the parts are joined. */
const allocated = (text: string): string => {
  allocateText(text.length)
  return text
}
const joined = (items: unknown[], depth: number): string =>
  items.map((item) => allocated(textOf(item, depth))).join(', ')

function objectText(value: object, depth: number): string {
  if (Array.isArray(value)) return `[${joined(value, depth)}]`
  if (value instanceof Map) {
    const entries = keysOf(value).map((key) => allocated(`${textOf(key, depth)}=${textOf(value.get(key), depth)}`))
    return `{${entries.join(', ')}}`
  }
  if (value instanceof Set) return `[${joined(sortedItems(value), depth)}]`
  if ('box' in value) return boxText(value as Box)
  if (isJavaArray(value)) return `[${value.elementType}@${value.items.length}`
  if (value instanceof JavaThrow) return value.hasMessage ? `${value.javaClass}: ${value.message}` : value.javaClass
  const printer = (value as { text?: () => string }).text
  return printer ? printer.call(value) : `${javaClassOf(value)}@${marksOf(value) ? 1 : 0}`
}

/** Removes white space and control characters at both ends, as Java's `trim` does. */
export function trimText(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 32) start++
  while (end > start && text.charCodeAt(end - 1) <= 32) end--
  return text.slice(start, end)
}

/** Joins texts. Their memory is counted before they are joined. */
export function joinTexts(parts: string[], delimiter: string): string {
  let length = 0
  for (const part of parts) length += part.length + delimiter.length
  allocateText(length)
  return parts.join(delimiter)
}
