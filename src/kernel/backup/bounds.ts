/**
 * Parses the bounds and keys of partitions. A backup contains them as PostgreSQL prints them. SQL is generated from the parsed values only,
 * so that text from a backup is never executed.
 */
import { quoteIdentifier } from './manifest.ts'

export type BoundValue =
  | { text: string }
  /** The number as decimal digits, because it may exceed JavaScript's safe integers. */
  | { number: string }
  | { word: 'NULL' | 'TRUE' | 'FALSE' | 'MINVALUE' | 'MAXVALUE' }

export type Bound =
  | { kind: 'default' }
  | { kind: 'list'; values: BoundValue[] }
  | { kind: 'range'; from: BoundValue[]; to: BoundValue[] }
  | { kind: 'hash'; modulus: string; remainder: string }

export interface PartitionKey {
  strategy: 'LIST' | 'RANGE' | 'HASH'
  columns: string[]
}

type Token = { text: string } | { number: string } | { name: string } | { word: string } | { sign: string }

const token =
  /\s*(?:'(?<text>(?:[^'\0]|'')*)'|(?<number>-?\d+(?:\.\d+)?)|"(?<name>(?:[^"\0]|"")+)"|(?<word>[A-Za-z_][A-Za-z0-9_]*)|(?<sign>[(),]))/y

/** Splits the text into tokens. Returns undefined if a part of the text is not a token. */
function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = []
  token.lastIndex = 0
  while (token.lastIndex < text.trimEnd().length) {
    const found = token.exec(text)?.groups
    if (!found) return undefined
    if (found.text !== undefined) tokens.push({ text: found.text.replaceAll("''", "'") })
    else if (found.number !== undefined) tokens.push({ number: found.number })
    else if (found.name !== undefined) tokens.push({ name: found.name.replaceAll('""', '"') })
    else if (found.word !== undefined) tokens.push({ word: found.word })
    else tokens.push({ sign: found.sign! })
  }
  return tokens
}

/** Creates a reader of tokens. Its methods whose names start with `expect` or `read` throw `Unreadable` on an unexpected token. */
function createTokenReader(text: string) {
  const tokens = tokensOf(text)
  if (!tokens) throw new Unreadable()
  let position = 0
  const next = () => tokens[position++]
  const isWord = (word: string) => {
    const current = tokens[position]
    return current !== undefined && 'word' in current && current.word.toUpperCase() === word
  }
  const assertReadable = (condition: boolean) => {
    if (!condition) throw new Unreadable()
  }
  const expectSign = (sign: string) => {
    const found = next()
    assertReadable(found !== undefined && 'sign' in found && found.sign === sign)
  }
  return {
    next,
    isWord,
    expectWord(wanted: string) {
      assertReadable(isWord(wanted))
      position++
    },
    expectSign,
    /** Reads a list such as `(a, b)`. */
    readList<T>(item: () => T): T[] {
      const items: T[] = []
      expectSign('(')
      for (;;) {
        items.push(item())
        const found = next()
        assertReadable(found !== undefined && 'sign' in found && found.sign !== '(')
        if ((found as { sign: string }).sign === ')') return items
      }
    },
    expectEnd: () => assertReadable(position === tokens.length),
  }
}

class Unreadable extends Error {}

function undefinedIfUnreadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const words = ['NULL', 'TRUE', 'FALSE', 'MINVALUE', 'MAXVALUE'] as const

function boundValueOf(read: Token | undefined): BoundValue {
  if (read && ('text' in read || 'number' in read)) return read
  const word = read && 'word' in read ? words.find((known) => known === read.word.toUpperCase()) : undefined
  if (!word) throw new Unreadable()
  return { word }
}

/** Parses the output of `pg_get_expr(relpartbound, …)`; returns undefined for any other text. */
export const parseBound = (text: string): Bound | undefined =>
  undefinedIfUnreadable(() => {
    const { next, isWord, expectWord, expectSign, readList, expectEnd } = createTokenReader(text)
    const readValue = () => boundValueOf(next())
    const readCount = () => {
      const found = readValue()
      if (!('number' in found) || !/^\d{1,9}$/.test(found.number)) throw new Unreadable()
      return found.number
    }
    let bound: Bound
    if (isWord('DEFAULT')) {
      expectWord('DEFAULT')
      bound = { kind: 'default' }
    } else {
      expectWord('FOR')
      expectWord('VALUES')
      if (isWord('IN')) {
        expectWord('IN')
        bound = { kind: 'list', values: readList(readValue) }
      } else if (isWord('FROM')) {
        expectWord('FROM')
        const from = readList(readValue)
        expectWord('TO')
        bound = { kind: 'range', from, to: readList(readValue) }
      } else {
        expectWord('WITH')
        expectSign('(')
        expectWord('MODULUS')
        const modulus = readCount()
        expectSign(',')
        expectWord('REMAINDER')
        bound = { kind: 'hash', modulus, remainder: readCount() }
        expectSign(')')
      }
    }
    expectEnd()
    return bound
  })

/** Quotes a value for a database session with `standard_conforming_strings`, in which a backslash is an ordinary character. */
const printValue = (value: BoundValue) => {
  if ('text' in value) return `'${value.text.replaceAll("'", "''")}'`
  return 'number' in value ? value.number : value.word
}

const printValues = (values: BoundValue[]) => `(${values.map(printValue).join(', ')})`

export function printBound(bound: Bound): string {
  switch (bound.kind) {
    case 'default':
      return 'DEFAULT'
    case 'list':
      return `FOR VALUES IN ${printValues(bound.values)}`
    case 'range':
      return `FOR VALUES FROM ${printValues(bound.from)} TO ${printValues(bound.to)}`
    case 'hash':
      return `FOR VALUES WITH (MODULUS ${bound.modulus}, REMAINDER ${bound.remainder})`
  }
}

/** Parses the output of `pg_get_partkeydef(…)` if the key consists of columns only; returns undefined for any other text. */
export const parseKey = (text: string): PartitionKey | undefined =>
  undefinedIfUnreadable(() => {
    const { next, isWord, expectWord, readList, expectEnd } = createTokenReader(text)
    const strategy = (['LIST', 'RANGE', 'HASH'] as const).find(isWord)
    if (!strategy) throw new Unreadable()
    expectWord(strategy)
    const columns = readList(() => {
      const found = next()
      if (found && 'name' in found) return found.name
      if (found && 'word' in found) return found.word
      throw new Unreadable()
    })
    expectEnd()
    return { strategy, columns }
  })

export const printKey = ({ strategy, columns }: PartitionKey) =>
  `PARTITION BY ${strategy} (${columns.map(quoteIdentifier).join(', ')})`
