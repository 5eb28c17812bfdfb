/**
 * Translates a documentQuery to SQL. Equality becomes `@> any(…)`, which the GIN index (jsonb_path_ops) supports. All other conditions
 * become jsonpath. A jsonpath is evaluated by a function, because with an operator the planner might read the whole index.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { predicateOf } from './jsonpath.ts'
import type { Comparison, Json, Node, Query, Test } from './query.ts'
import { isObject } from './query.ts'

/** The column names in the statement, such as `e.metadata`. */
export interface Columns {
  metadata: string
  versionName: string
}

/** Maximum number of documents in an `@> any(…)`. With more documents, planning takes longer than the index saves. */
const containmentsMax = 4000
/** From this number of values on, a lookup in a hash table before the tests with `@>` makes the statement faster. */
const valuesForHash = 8

/**
 * Returns an SQL condition for `where` that never raises an error. It may be null, which counts as false, so negate it with `is not true`.
 */
export function toSql(sql: Sql, query: Query, columns: Columns): Fragment {
  const metadata = () => sql(columns.metadata) as unknown as Fragment
  const version = () => sql(columns.versionName) as unknown as Fragment
  const jsonpathMatch = (node: Node) => sql`jsonb_path_match(${metadata()}, ${predicateOf(node)}::jsonpath, '{}', true)`
  const joined = (parts: Fragment[], by: Fragment) =>
    sql`(${parts.map((part, index) => (index ? sql` ${by} ${part}` : part))})`

  function condition(node: Node): Fragment {
    switch (node.node) {
      case 'constant':
        return node.holds ? sql`true` : sql`false`
      case 'all':
        return joined(node.parts.map(condition), sql`and`)
      case 'any':
        return joined(node.parts.map(condition), sql`or`)
      case 'not':
        return sql`(${condition(node.part)} is not true)`
      case 'version':
        return versionCondition(node.test)
      case 'size':
        return sql`((select count(*) from jsonb_object_keys(${metadata()})) = ${node.size}::int8)`
      case 'member':
        return jsonpathMatch(node)
      case 'test':
        return node.test.is === 'in' ? equality(node, node.test.values) : jsonpathMatch(node)
    }
  }

  function equality(node: Node & { node: 'test' }, values: Json[]): Fragment {
    if (!values.every(containsScalar)) return jsonpathMatch(node)
    const shapes = values.flatMap((value) => shapesOf(node.path, value, node.withElements))
    if (shapes.length > containmentsMax) return jsonpathMatch(node)
    const parts = [sql`${metadata()} @> any(${texts(shapes)}::text[]::jsonb[])`]
    if (values.length >= valuesForHash && node.path.length === 1) parts.unshift(hashLookup(node.path[0]!, values))
    // Containment of a structure also finds larger structures, so the exact jsonpath condition is added.
    if (values.some((value) => typeof value === 'object')) parts.push(jsonpathMatch(node))
    return parts.length === 1 ? parts[0]! : joined(parts, sql`and`)
  }

  /**
   * Returns a condition that speeds up scans: 300 tests with `@>` take 60 µs for each row, a lookup in a hash table takes 0.5 µs. Arrays
   * always meet the condition, because only `@>` tests their elements.
   */
  function hashLookup(key: string, values: Json[]): Fragment {
    const value = sql`${metadata()} -> ${key}::text`
    return sql`(${value} = any(${texts(values)}::text[]::jsonb[]) or jsonb_typeof(${value}) = 'array')`
  }

  function versionCondition(test: Test): Fragment {
    switch (test.is) {
      case 'in': {
        const names = test.values.filter((value) => typeof value === 'string')
        const parts = [
          ...(names.length === 1 ? [sql`${version()} = ${names[0]!}`] : []),
          ...(names.length > 1 ? [sql`${version()} = any(${names}::text[])`] : []),
          ...(test.values.includes(null) ? [sql`${version()} is null`] : []),
        ]
        return parts.length ? joined(parts, sql`or`) : sql`false`
      }
      case 'compare':
        return typeof test.to === 'string' ? comparison(test.by, test.to) : sql`false`
      case 'regex':
        return sql`(${version()} ~ ${test.regex.sqlPattern})`
      case 'exists':
        return sql`(${version()} is not null)`
      case 'type':
        return test.types.includes('string') ? sql`(${version()} is not null)` : sql`false`
      default:
        return sql`false`
    }
  }

  /** Compares texts. Collation C compares by code point, like the evaluator. */
  function comparison(by: Comparison, to: string): Fragment {
    const operator = { '>': sql`>`, '>=': sql`>=`, '<': sql`<`, '<=': sql`<=` }[by]
    return sql`(${version()} collate "C" ${operator} ${to})`
  }

  return condition(query.where)
}

const texts = (values: Json[]) => values.map((value) => JSON.stringify(value))

/** Returns false for values that the index cannot find: null also matches missing values, and empty structures are not indexed. */
function containsScalar(value: Json): boolean {
  if (Array.isArray(value)) return value.some((element) => element === null || containsScalar(element))
  if (isObject(value)) return Object.values(value).some((field) => field === null || containsScalar(field))
  return value !== null
}

/**
 * Returns the shapes that metadata may have if it has the value at this path. The value at each step and at the end may be inside an array.
 */
function shapesOf(path: string[], value: Json, withElements: boolean): Json[] {
  const ends: Json[] = withElements ? [value, [value]] : [value]
  return path.reduceRight<Json[]>(
    (shapes, name, index) =>
      shapes.flatMap((shape): Json[] => (index ? [{ [name]: shape }, [{ [name]: shape }]] : [{ [name]: shape }])),
    ends,
  )
}
