/**
 * The syntax tree of a documentQuery. The evaluator (`evaluate.ts`) and the SQL compiler (`sql.ts`) share it, so that they cannot interpret
 * the language differently.
 */
import type { Regex } from '../regex/regex.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export type JsonObject = { [name: string]: Json }

export type TypeName = 'double' | 'int' | 'long' | 'number' | 'string' | 'object' | 'array' | 'bool' | 'null'
export type Comparison = '>' | '>=' | '<' | '<='

/** Tests one value, which may be missing. */
export type Test =
  | { is: 'in'; values: Json[] }
  | { is: 'compare'; by: Comparison; to: number | string | boolean }
  | { is: 'exists' }
  | { is: 'regex'; regex: Regex }
  | { is: 'mod'; divisor: number; remainder: number }
  | { is: 'type'; types: TypeName[] }
  | { is: 'size'; size: number }
  /** Some element of the array must match. With `objects`, `where` tests the fields of the element, otherwise the element itself. */
  | { is: 'element'; where: Node; objects: boolean }

/**
 * A condition on the current value. At the root this is the metadata object, within `member` one `{ key, value }`, and within an `element`
 * test one element of an array.
 */
export type Node =
  | { node: 'constant'; holds: boolean }
  | { node: 'all'; parts: Node[] }
  | { node: 'any'; parts: Node[] }
  | { node: 'not'; part: Node }
  /**
   * Some value at the path must pass the test. As in MongoDB, a path leads through arrays into the objects that they contain. With
   * `withElements`, an array at the end of the path also passes if one of its elements passes.
   */
  | { node: 'test'; path: string[]; withElements: boolean; test: Test }
  /** This and the next two nodes test the endpoint as a whole. They never occur within `member` or an `element` test. */
  | { node: 'version'; test: Test }
  | { node: 'member'; where: Node }
  | { node: 'size'; size: number }

export interface Query {
  /** The query as the user gave it. It is stored and shown. */
  source: JsonObject
  where: Node
  /** Total size of the patterns in the query (`regex.ts`). */
  patternSize: number
}

export const constant = (holds: boolean): Node => ({ node: 'constant', holds })

const combine = (node: 'all' | 'any', children: Node[]): Node => {
  const deciding = node === 'any'
  const parts: Node[] = []
  for (const part of children) {
    if (part.node === 'constant') {
      if (part.holds === deciding) return part
    } else if (part.node === node) parts.push(...part.parts)
    else parts.push(part)
  }
  return parts.length === 0 ? constant(!deciding) : parts.length === 1 ? parts[0]! : { node, parts }
}

export const all = (...nodes: Node[]): Node => combine('all', nodes)
export const any = (...nodes: Node[]): Node => combine('any', nodes)
export const not = (node: Node): Node =>
  node.node === 'constant' ? constant(!node.holds) : node.node === 'not' ? node.part : { node: 'not', part: node }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns whether a missing value passes the test. A missing value equals null and passes no other test. */
export const holdsForMissing = (test: Test) => test.is === 'in' && test.values.includes(null)
