/**
 * What a documentQuery means, after parsing: a small algebra that the evaluator (evaluate.ts) and the SQL compiler
 * (store/document-query-sql.ts) both read, so that they cannot disagree about the language.
 */
import type { Regex } from '../regex/regex.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [name: string]: Json }

export type TypeName = 'double' | 'int' | 'long' | 'number' | 'string' | 'object' | 'array' | 'bool' | 'null'
export type Comparison = '>' | '>=' | '<' | '<='

/** A question about one value, which may be missing. */
export type Test =
  | { is: 'in'; values: Json[] }
  | { is: 'compare'; by: Comparison; to: number | string | boolean }
  | { is: 'exists' }
  | { is: 'regex'; regex: Regex }
  | { is: 'mod'; divisor: number; remainder: number }
  | { is: 'type'; types: TypeName[] }
  | { is: 'size'; size: number }
  /** Some element of the array; `objects`: `where` speaks of fields of the element, else of the element itself. */
  | { is: 'element'; where: Node; objects: boolean }

/**
 * A condition on what is in scope: at the root the metadata as an object, within `member` one `{ key, value }`, within an
 * `element` test one element of an array.
 */
export type Node =
  | { node: 'constant'; holds: boolean }
  | { node: 'all'; of: Node[] }
  | { node: 'any'; of: Node[] }
  | { node: 'not'; of: Node }
  /**
   * Some value at the path passes. Paths go through arrays as MongoDB's do: on the way into the objects of an array,
   * at the end, with `into`, to the elements as well as the array itself.
   */
  | { node: 'test'; path: string[]; into: boolean; test: Test }
  /** Only at the root: */
  | { node: 'version'; test: Test }
  | { node: 'member'; where: Node }
  | { node: 'size'; size: number }

export interface Query {
  /** As given, for storing and showing. */
  source: JsonObject
  where: Node
  /** The sizes of its patterns together: see regex.ts. */
  patternSize: number
}

export const constant = (holds: boolean): Node => ({ node: 'constant', holds })

const combine = (node: 'all' | 'any', parts: Node[]): Node => {
  const deciding = node === 'any'
  const of: Node[] = []
  for (const part of parts) {
    if (part.node === 'constant') {
      if (part.holds === deciding) return part
    } else if (part.node === node) of.push(...part.of)
    else of.push(part)
  }
  return of.length === 0 ? constant(!deciding) : of.length === 1 ? of[0]! : { node, of }
}

export const all = (...of: Node[]): Node => combine('all', of)
export const any = (...of: Node[]): Node => combine('any', of)
export const not = (of: Node): Node =>
  of.node === 'constant' ? constant(!of.holds) : of.node === 'not' ? of.of : { node: 'not', of }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value that is not there passes: missing equals null, and nothing else holds of it. */
export const holdsForMissing = (test: Test) => test.is === 'in' && test.values.includes(null)
