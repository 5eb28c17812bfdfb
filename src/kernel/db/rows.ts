/** Builds row objects from the columns that PostgreSQL returns. */
import { LRUCache } from 'lru-cache'
import type { Row } from './sql.ts'
import { parserOf } from './values.ts'

/** Creates a row from the texts of its columns. */
export type RowOf = (texts: readonly (string | null)[]) => Row

const makers = new LRUCache<string, RowOf>({ max: 2000 })

/**
 * Returns a function that creates rows with these names and types. The function is compiled from source text, because an object literal
 * takes a quarter of the time of assigning the names one by one. The names are quoted and come from our own statements.
 */
export function rowMaker(names: readonly string[], oids: readonly number[]): RowOf {
  const key = JSON.stringify([names, oids])
  let maker = makers.get(key)
  if (!maker) {
    maker = compileMaker(names, oids)
    makers.set(key, maker)
  }
  return maker
}

function compileMaker(names: readonly string[], oids: readonly number[]): RowOf {
  const parsers = oids.map(parserOf)
  const properties = names.map((name, index) => {
    const text = `texts[${index}]`
    const value = parsers[index] ? `${text} === null ? null : parsers[${index}](${text})` : text
    // In brackets, `__proto__` is an ordinary property name.
    return `[${JSON.stringify(name)}]: ${value}`
  })
  return new Function('parsers', `return (texts) => ({ ${properties.join(', ')} })`)(parsers) as RowOf
}
