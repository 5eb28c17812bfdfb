/**
 * A documentQuery as an SQL condition. Equality compiles to `@> any(…)`, which the GIN index (jsonb_path_ops) answers; the rest
 * is jsonpath, called as a function where the index cannot help: an operator would tempt the planner into reading the
 * whole index.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { predicateOf } from './jsonpath.ts'
import type { Comparison, Json, Node, Query, Test } from './query.ts'
import { isObject } from './query.ts'

/** Columns as they are named in the statement, such as `e.metadata`. */
export interface Columns {
  metadata: string
  versionName: string
}

/** Beyond this, planning costs more than it saves. */
const mostContainments = 4000
/** From here on it pays to look a value up in a hash table before asking for containment. */
const manyValues = 8

/** For `where`: it never raises an error; null stands for false, so a caller negates it with `is not true`. */
export function toSql(sql: Sql, query: Query, columns: Columns): Fragment {
  const metadata = () => sql(columns.metadata) as unknown as Fragment
  const version = () => sql(columns.versionName) as unknown as Fragment
  const matched = (node: Node) => sql`jsonb_path_match(${metadata()}, ${predicateOf(node)}::jsonpath, '{}', true)`
  const joined = (parts: Fragment[], by: Fragment) =>
    sql`(${parts.map((part, index) => (index ? sql` ${by} ${part}` : part))})`

  function condition(node: Node): Fragment {
    switch (node.node) {
      case 'constant':
        return node.holds ? sql`true` : sql`false`
      case 'all':
        return joined(node.of.map(condition), sql`and`)
      case 'any':
        return joined(node.of.map(condition), sql`or`)
      case 'not':
        return sql`(${condition(node.of)} is not true)`
      case 'version':
        return versionCondition(node.test)
      case 'size':
        return sql`((select count(*) from jsonb_object_keys(${metadata()})) = ${node.size}::int8)`
      case 'member':
        return matched(node)
      case 'test':
        return node.test.is === 'in' ? equality(node, node.test.values) : matched(node)
    }
  }

  function equality(node: Node & { node: 'test' }, values: Json[]): Fragment {
    if (!values.every(holdsScalar)) return matched(node)
    const shapes = values.flatMap((value) => shapesOf(node.path, value, node.into))
    if (shapes.length > mostContainments) return matched(node)
    const parts = [sql`${metadata()} @> any(${texts(shapes)}::text[]::jsonb[])`]
    if (values.length >= manyValues && node.path.length === 1) parts.unshift(hashed(node.path[0]!, values))
    // Of a structure, containment says only "at least this".
    if (values.some((value) => typeof value === 'object')) parts.push(matched(node))
    return parts.length === 1 ? parts[0]! : joined(parts, sql`and`)
  }

  /**
   * For scans, also under a negation: 300 containments take 60 µs a row, one look into a hash table 0.5. Arrays go on to
   * the containments.
   */
  function hashed(key: string, values: Json[]): Fragment {
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

  /** Collation C is by code point, as in memory. */
  function comparison(by: Comparison, to: string): Fragment {
    const operator = { '>': sql`>`, '>=': sql`>=`, '<': sql`<`, '<=': sql`<=` }[by]
    return sql`(${version()} collate "C" ${operator} ${to})`
  }

  return condition(query.where)
}

const texts = (values: Json[]) => values.map((value) => JSON.stringify(value))

/** Null also matches what is missing, and an empty structure has nothing that is in the index. */
function holdsScalar(value: Json): boolean {
  if (Array.isArray(value)) return value.some((element) => element === null || holdsScalar(element))
  if (isObject(value)) return Object.values(value).some((field) => field === null || holdsScalar(field))
  return value !== null
}

/** What metadata may look like where the path leads to the value: on the way and at the end there may be arrays. */
function shapesOf(path: string[], value: Json, into: boolean): Json[] {
  const ends: Json[] = into ? [value, [value]] : [value]
  return path.reduceRight<Json[]>(
    (shapes, name, index) =>
      shapes.flatMap((shape): Json[] => (index ? [{ [name]: shape }, [{ [name]: shape }]] : [{ [name]: shape }])),
    ends,
  )
}
