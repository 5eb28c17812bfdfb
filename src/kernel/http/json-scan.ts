/**
 * Scans the bytes of a JSON text before it is parsed. Each scan takes a few milliseconds per mebibyte, whatever the content is. If the text
 * is not valid JSON, the results have no meaning, because the parser rejects the text afterwards.
 */
import { isUnstorableNumber, judgeNumber, shortestUnstorable } from './json-number.ts'

/**
 * Cost of parsing, checking and serializing JSON, in units of about 70 ns. A number, `true`, `false`, `null` and a name cost 1. V8 needs 1
 * µs for an object with a name that is new to it, and 0.1 µs for a number with the same number of bytes.
 */
export const weights = { text: 5, array: 4, object: 7, newName: 16, longNumber: 20 }
export const costMax = 400_000

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const minus = 0x2d

export interface Structure {
  tooDeep: boolean
  /** The cost without the extra cost of new names and long numbers. */
  cost: number
  /** Number of member names, including repetitions. */
  names: number
  /** True if the text between two commas or brackets is long enough to be a number that cannot be stored. */
  hasLong: boolean
}

export function measureStructure(bytes: Uint8Array, depthMax: number): Structure {
  const { length } = bytes
  let depth = 0
  let texts = 0
  let arrays = 0
  let objects = 0
  let names = 0
  let commas = 0
  let last = -1
  let hasLong = false
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      texts++
      for (i++; i < length && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++
      last = i
      continue
    }
    if (byte === 0x2c) commas++
    else if (byte === 0x3a) names++
    // These are the bytes of { and [, then of } and ].
    else if (byte === 0x7b || byte === 0x5b) {
      if (byte === 0x7b) objects++
      else arrays++
      if (++depth > depthMax) return { tooDeep: true, cost: 0, names, hasLong }
    } else if (byte === 0x7d || byte === 0x5d) depth--
    else continue
    if (i - last > shortestUnstorable) hasLong = true
    last = i
  }
  if (length - last > shortestUnstorable) hasLong = true
  texts = Math.max(0, texts - names)
  const plain = Math.max(0, commas + 1 - texts)
  const cost = plain + names + texts * weights.text + arrays * weights.array + objects * weights.object
  return { tooDeep: false, cost, names, hasLong }
}

export interface Flaws {
  /** True if an escape represents NUL or a lone surrogate. */
  badEscape: boolean
  /** Start and end of the first numbers that cannot be stored, in the order of the text. */
  unstorableNumbers: number[]
  /** Count of numbers that took long to check. */
  longNumbers: number
}

/** The scan stops after this many unstorable numbers. */
export const unstorableNumbersMax = 1000
const longNumbersMax = costMax / weights.longNumber

/** Finds values that cannot be stored. Call it only if the text contains a long number or an escape. */
export function findFlaws(bytes: Uint8Array, roundIntegers: boolean): Flaws {
  const flaws: Flaws = { badEscape: false, unstorableNumbers: [], longNumbers: 0 }
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte === quote) i = endOfText(bytes, i, flaws)
    else if (byte === minus || isDigit(byte)) {
      i = checkNumber(bytes, i, roundIntegers, flaws) - 1
      if (flaws.unstorableNumbers.length >= 2 * unstorableNumbersMax || flaws.longNumbers > longNumbersMax) break
    }
  }
  return flaws
}

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39

function endOfText(bytes: Uint8Array, start: number, flaws: Flaws): number {
  let i = start + 1
  for (; i < bytes.length && bytes[i] !== quote; i++) {
    if (bytes[i] !== backslash || bytes[++i] !== letterU) continue
    const unit = hexAt(bytes, i + 1)
    if (unit === 0) flaws.badEscape = true
    if (unit < 0xd800 || unit >= 0xe000) continue
    // The low surrogate must follow as an escape too, because UTF-8 cannot encode it.
    const low = bytes[i + 5] === backslash && bytes[i + 6] === letterU ? hexAt(bytes, i + 7) : -1
    if (unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) i += 6
    else flaws.badEscape = true
  }
  return i
}

/** Returns the value of four hexadecimal digits, or -1 if one of them is not a digit. */
function hexAt(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let i = at; i < at + 4; i++) {
    const byte = bytes[i] ?? 0
    // The bit 0x20 converts letters to lower case and leaves digits as they are.
    const lower = byte | 0x20
    if (isDigit(byte)) value = value * 16 + byte - 0x30
    else if (lower >= 0x61 && lower <= 0x66) value = value * 16 + lower - 0x57
    else return -1
  }
  return value
}

/** Checks the number at `start` and returns the index after its end. */
function checkNumber(bytes: Uint8Array, start: number, roundIntegers: boolean, flaws: Flaws): number {
  let exponentAt = 0
  let hasPoint = false
  let i = start + 1
  for (; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (isDigit(byte)) continue
    if (byte === 0x65 || byte === 0x45) exponentAt = i
    else if (byte === 0x2e) hasPoint = true
    else if (byte !== 0x2b && byte !== minus) break
  }
  // A number with at most 15 digits and an exponent of at most two digits is in range.
  if (i - start < shortestUnstorable && (exponentAt === 0 || i - exponentAt <= 3)) return i
  const kind = { exponentAt, isInteger: !hasPoint && exponentAt === 0, roundIntegers }
  let verdict = judgeNumber(bytes, start, i, kind)
  if (verdict === 'unclear') {
    flaws.longNumbers++
    verdict = isUnstorableNumber(Buffer.prototype.latin1Slice.call(bytes, start, i), kind) ? 'unstorable' : 'storable'
  }
  if (verdict === 'unstorable') flaws.unstorableNumbers.push(start, i)
  return i
}

/** Returns whether more than `max` different names occur. */
export function hasMoreNames(bytes: Uint8Array, max: number): boolean {
  const { length } = bytes
  let size = 1024
  while (size < 4 * max) size *= 2
  const seen = new Int32Array(size)
  let count = 0
  for (let i = 0; i < length; i++) {
    if (bytes[i] !== quote) continue
    let hash = seed
    for (i++; i < length && bytes[i] !== quote; i++) {
      if (bytes[i] === backslash) hash = Math.imul(hash ^ bytes[i++]!, factor)
      hash = Math.imul(hash ^ (bytes[i] ?? 0), factor)
      hash ^= hash >>> 15
    }
    let next = i + 1
    while (isSpace(bytes[next])) next++
    if (bytes[next] !== 0x3a) continue
    i = next
    // Zero marks an empty slot.
    hash ||= 1
    let slot = hash & (size - 1)
    while (seen[slot] !== 0 && seen[slot] !== hash) slot = (slot + 1) & (size - 1)
    if (seen[slot] === hash) continue
    seen[slot] = hash
    if (++count > max) return true
  }
  return false
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** The seed is random, so that a client cannot prepare names with equal hashes. */
const seed = (Math.random() * 2 ** 32) | 0
const factor = 0x5bd1e995

/** Returns the name or array index of the value at this byte; empty for the whole text. */
export function nameAt(bytes: Uint8Array, offset: number): string {
  /** The next index of each open array; -1 for each open object. */
  const open: number[] = []
  let nameStart = 0
  let nameEnd = 0
  for (let i = 0; i < offset; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      nameStart = i
      for (i++; i < offset && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++
      nameEnd = i + 1
    } else if (byte === 0x7b) open.push(-1)
    else if (byte === 0x5b) open.push(0)
    else if (byte === 0x7d || byte === 0x5d) open.pop()
    else if (byte === 0x2c && open.at(-1)! >= 0) open[open.length - 1]!++
  }
  const last = open.at(-1)
  if (last === undefined) return ''
  return last >= 0 ? String(last) : JSON.parse(Buffer.prototype.utf8Slice.call(bytes, nameStart, nameEnd))
}
