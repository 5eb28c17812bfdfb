/**
 * Parses the bounds and keys of partitions. A backup has them as PostgreSQL prints them; SQL is generated from the parsed
 * values only, so text from a backup is never executed.
 */
import { quoted } from './manifest.ts'

export type BoundValue =
  | { text: string }
  /** Decimal digits, because the value may exceed JavaScript's safe integers. */
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

/** Returns undefined if part of the text is not a token. */
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

/** Reads tokens in order; every method throws `Unreadable` on an unexpected token. */
function reader(text: string) {
  const tokens = tokensOf(text)
  if (!tokens) throw new Unreadable()
  let at = 0
  const next = () => tokens[at++]
  const isWord = (word: string) => {
    const there = tokens[at]
    return there !== undefined && 'word' in there && there.word.toUpperCase() === word
  }
  const expect = (holds: boolean) => {
    if (!holds) throw new Unreadable()
  }
  const sign = (wanted: string) => {
    const found = next()
    expect(found !== undefined && 'sign' in found && found.sign === wanted)
  }
  return {
    next,
    isWord,
    word(wanted: string) {
      expect(isWord(wanted))
      at++
    },
    sign,
    /** `(a, b)` */
    list<T>(item: () => T): T[] {
      const items: T[] = []
      sign('(')
      for (;;) {
        items.push(item())
        const found = next()
        expect(found !== undefined && 'sign' in found && found.sign !== '(')
        if ((found as { sign: string }).sign === ')') return items
      }
    },
    end: () => expect(at === tokens.length),
  }
}

class Unreadable extends Error {}

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const words = ['NULL', 'TRUE', 'FALSE', 'MINVALUE', 'MAXVALUE'] as const

function boundValueOf(found: Token | undefined): BoundValue {
  if (found && ('text' in found || 'number' in found)) return found
  const word = found && 'word' in found ? words.find((known) => known === found.word.toUpperCase()) : undefined
  if (!word) throw new Unreadable()
  return { word }
}

/** Parses the output of `pg_get_expr(relpartbound, …)`; returns undefined for any other text. */
export const parseBound = (text: string): Bound | undefined =>
  readable(() => {
    const { next, isWord, word, sign, list, end } = reader(text)
    const value = () => boundValueOf(next())
    const count = () => {
      const found = value()
      if (!('number' in found) || !/^\d{1,9}$/.test(found.number)) throw new Unreadable()
      return found.number
    }
    let bound: Bound
    if (isWord('DEFAULT')) {
      word('DEFAULT')
      bound = { kind: 'default' }
    } else {
      word('FOR')
      word('VALUES')
      if (isWord('IN')) {
        word('IN')
        bound = { kind: 'list', values: list(value) }
      } else if (isWord('FROM')) {
        word('FROM')
        const from = list(value)
        word('TO')
        bound = { kind: 'range', from, to: list(value) }
      } else {
        word('WITH')
        sign('(')
        word('MODULUS')
        const modulus = count()
        sign(',')
        word('REMAINDER')
        bound = { kind: 'hash', modulus, remainder: count() }
        sign(')')
      }
    }
    end()
    return bound
  })

/** Quotes for a session with `standard_conforming_strings`, where a backslash is an ordinary character. */
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
  readable(() => {
    const { next, isWord, word, list, end } = reader(text)
    const strategy = (['LIST', 'RANGE', 'HASH'] as const).find(isWord)
    if (!strategy) throw new Unreadable()
    word(strategy)
    const columns = list(() => {
      const found = next()
      if (found && 'name' in found) return found.name
      if (found && 'word' in found) return found.word
      throw new Unreadable()
    })
    end()
    return { strategy, columns }
  })

export const printKey = ({ strategy, columns }: PartitionKey) =>
  `PARTITION BY ${strategy} (${columns.map(quoted).join(', ')})`
