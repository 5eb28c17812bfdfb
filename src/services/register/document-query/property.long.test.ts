/**
 * Tests random queries on random endpoints: SQL, the evaluator and a reference implementation must agree. The reference implementation
 * follows the matcher of MongoDB (its ElementPath) literally, on whole documents. mingo.test.ts compares with mingo.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { afterAllTests, freshDatabase } from '../../../../test/harness/database.ts'
import { connect, type Pool } from '../../../kernel/db.ts'
import { compile, type EndpointView } from './evaluate.ts'
import { dependsOnVersion, keysOf } from './keys.ts'
import { parse } from './parse.ts'
import type { Json, JsonObject } from './query.ts'
import { toSql } from './sql.ts'

let sql: Pool
const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)

before(async () => {
  sql = connect(await freshDatabase(), { max: 1 })
  afterAllTests(() => sql.end())
  await sql`create table endpoints (n int8 primary key, version_name text, metadata jsonb not null)`
  await sql`create index on endpoints using gin (metadata jsonb_path_ops)`
  await sql`insert into endpoints
    select n, version_name, metadata
    from rows from (jsonb_to_recordset(${sql.json(endpoints as never)}) as ("versionName" text, metadata jsonb))
      with ordinality as e (version_name, metadata, n)`
})

async function inDatabase(query: JsonObject): Promise<Set<number>> {
  const condition = toSql(sql, parse(query), { metadata: 'e.metadata', versionName: 'e.version_name' })
  const rows = await sql<{ n: number }[]>`select n from endpoints e where ${condition}`
  return new Set(rows.map((row) => row.n))
}

// The reference implementation. Its documents contain the metadata twice: as the list `metadata`, and as the object `alias`, which our
// queries call `metadata.<key>`.

type Value = Json | undefined

const documentOf = ({ versionName, metadata }: EndpointView): JsonObject => ({
  ...(versionName === null ? {} : { application_version: versionName }),
  metadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  alias: metadata,
})

const isPlain = (value: Value): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function valuesAt(value: Value, path: string[], withElements: boolean): Value[] {
  if (!path.length) return withElements && Array.isArray(value) ? [...value, value] : [value]
  if (Array.isArray(value)) return value.filter(isPlain).flatMap((element) => valuesAt(element, path, withElements))
  const [name, ...rest] = path
  return isPlain(value) && name! in value ? valuesAt(value[name!], rest, withElements) : [undefined]
}

const canonical = (value: Value): string =>
  JSON.stringify(value ?? null, (_, part) =>
    isPlain(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
const bsonType = (value: Value) =>
  typeof value === 'number'
    ? Number.isInteger(value)
      ? Math.abs(value) < 2 ** 31
        ? 'int'
        : 'long'
      : 'double'
    : value === null
      ? 'null'
      : typeof value === 'boolean'
        ? 'bool'
        : Array.isArray(value)
          ? 'array'
          : typeof value

const negations: Record<string, string> = { $ne: '$eq', $nin: '$in' }

function operatorHolds(
  name: string,
  arg: Json,
  siblings: JsonObject,
  get: (withElements: boolean) => Value[],
): boolean {
  const some = (check: (value: Value) => boolean) => get(true).some(check)
  const ordered = (check: (a: never, b: never) => boolean) =>
    arg === null
      ? name.endsWith('e') && some((value) => (value ?? null) === null)
      : some((value) => typeof value === typeof arg && typeof arg !== 'object' && check(value as never, arg as never))
  const list = arg as Json[]
  if (name in negations) return !operatorHolds(negations[name]!, arg, siblings, get)
  switch (name) {
    case '$eq':
      return some((value) => canonical(value) === canonical(arg))
    case '$in':
      return list.some((one) => some((value) => canonical(value) === canonical(one)))
    case '$all':
      return (
        list.length > 0 &&
        list.every((one) =>
          isPlain(one) && '$elemMatch' in one
            ? operatorHolds('$elemMatch', one.$elemMatch!, {}, get)
            : operatorHolds('$eq', one, {}, get),
        )
      )
    case '$gt':
      return ordered((a, b) => a > b)
    case '$gte':
      return ordered((a, b) => a >= b)
    case '$lt':
      return ordered((a, b) => a < b)
    case '$lte':
      return ordered((a, b) => a <= b)
    case '$not':
      return !conditionHolds(arg, get)
    case '$exists':
      return get(false).some((value) => value !== undefined) === Boolean(arg)
    case '$size':
      return get(false).some((value) => Array.isArray(value) && value.length === arg)
    case '$mod':
      return some((value) => typeof value === 'number' && Math.trunc(value) % (list[0] as number) === list[1])
    case '$type':
      return some((value) =>
        [arg].flat().some((type) => bsonType(value) === type || (type === 'number' && typeof value === 'number')),
      )
    case '$regex':
      return some(
        (value) => typeof value === 'string' && new RegExp(arg as string, siblings.$options as string).test(value),
      )
    case '$options':
      return true
    case '$elemMatch': {
      const filter = arg as JsonObject
      const [first] = Object.keys(filter)
      const ofValue = first?.startsWith('$') && !['$and', '$or', '$nor'].includes(first)
      return get(false).some(
        (value) =>
          Array.isArray(value) &&
          value.some((element) =>
            ofValue
              ? conditionHolds(filter, () => [element])
              : typeof element === 'object' &&
                element !== null &&
                filterHolds(filter, Array.isArray(element) ? {} : element),
          ),
      )
    }
    default:
      throw new Error(name)
  }
}

function conditionHolds(condition: Json, get: (withElements: boolean) => Value[]): boolean {
  if (!isPlain(condition) || !Object.keys(condition)[0]?.startsWith('$'))
    return operatorHolds('$eq', condition, {}, get)
  return Object.entries(condition).every(([name, arg]) => operatorHolds(name, arg, condition, get))
}

function filterHolds(filter: JsonObject, document: JsonObject): boolean {
  return Object.entries(filter).every(([name, condition]) => {
    const parts = condition as JsonObject[]
    if (name === '$and') return parts.every((part) => filterHolds(part, document))
    if (name === '$or') return parts.some((part) => filterHolds(part, document))
    if (name === '$nor') return !parts.some((part) => filterHolds(part, document))
    return conditionHolds(condition, (withElements) => valuesAt(document, name.split('.'), withElements))
  })
}

// The generators use only few names and values, so that queries often match endpoints.

const scalar = fc.constantFrom<Json>(null, true, false, 0, 1, 2, -1, -1.5, 7, 3e9, '', 'a', 'ab', 'Kyiv', 'kyiv\nb')
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: scalar, weight: 4 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 2 },
    { arbitrary: fc.dictionary(fc.constantFrom('x', 'y'), tie('value'), { noNullPrototype: true }), weight: 3 },
  ),
}))
const key = fc.constantFrom('a', 'b', 'city', 'key', 'value')
const endpoint: fc.Arbitrary<EndpointView> = fc.record({
  versionName: fc.constantFrom('a', 'ab', 'Kyiv', null),
  metadata: fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true }),
})

const operator = (name: string, arg: fc.Arbitrary<unknown>) => arg.map((given) => ({ [name]: given }) as JsonObject)
const pattern = fc.constantFrom('a', '^a', 'b$', '^Kyiv$', '.y', '[^a]', 'a|K', '(?:ab?)+$', '\\bb')
const listOf = (part: fc.Arbitrary<unknown>, minLength = 0) => fc.array(part, { minLength, maxLength: 4 })

const tied = fc.letrec<{ operators: JsonObject; condition: Json; fields: JsonObject; member: JsonObject }>((tie) => ({
  operators: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    ...['$eq', '$ne'].map((name) => operator(name, value)),
    ...['$gt', '$gte', '$lt', '$lte'].map((name) => operator(name, scalar)),
    ...['$in', '$nin'].map((name) => operator(name, listOf(value))),
    operator('$in', fc.array(scalar, { minLength: 17, maxLength: 20 })),
    operator('$exists', fc.boolean()),
    fc.record({ $regex: pattern, $options: fc.constantFrom('', 'i', 'm', 's') }) as fc.Arbitrary<JsonObject>,
    operator('$all', listOf(value)),
    operator('$all', listOf(operator('$elemMatch', fc.oneof(tie('fields'), tie('operators'))), 1)),
    operator('$size', fc.nat(3)),
    operator('$mod', fc.tuple(fc.constantFrom(2, -2, 3), fc.constantFrom(0, 1, -1))),
    operator(
      '$type',
      fc.constantFrom('number', 'int', 'long', 'double', 'string', 'bool', 'null', 'object', ['array', 'int']),
    ),
    operator('$not', tie('operators')),
    operator('$elemMatch', tie('operators')),
    operator('$elemMatch', tie('fields')),
    fc.tuple(tie('operators'), tie('operators')).map(([a, b]) => ({ ...a, ...b })),
  ),
  condition: fc.oneof(value, tie('operators'), tie('operators')),
  fields: filters(fc.constantFrom('x', 'y', 'x.y'), tie('condition'), tie('fields')),
  member: filters(
    fc.constantFrom('key', 'value', 'key', 'value', 'value.x', 'value.x.y'),
    tie('condition'),
    tie('member'),
  ),
}))

function filters(name: fc.Arbitrary<string>, condition: fc.Arbitrary<unknown>, nested: fc.Arbitrary<JsonObject>) {
  return fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.dictionary(name, condition, { minKeys: 1, maxKeys: 2, noNullPrototype: true }) as fc.Arbitrary<JsonObject>,
    ...['$and', '$or', '$nor'].map((operation) =>
      operator(operation, fc.array(nested, { minLength: 1, maxLength: 3 })),
    ),
  )
}

const named = fc.tuple(key, tied.condition).map(([name, condition]) => ({ key: name, value: condition }) as JsonObject)
const aMember = fc.oneof(named, tied.member)
const ofMetadata = fc.oneof(
  operator('$elemMatch', aMember),
  operator('$elemMatch', named),
  operator('$not', operator('$elemMatch', aMember)),
  operator('$all', listOf(operator('$elemMatch', aMember), 1)),
  operator('$size', fc.nat(4)),
  ...['$eq', '$ne'].map((name) => operator(name, fc.oneof(scalar, fc.record({ key, value })))),
  operator('$in', listOf(fc.oneof(scalar, fc.record({ key, value })))),
  operator('$type', fc.constantFrom('array', 'object', 'string')),
  operator('$exists', fc.boolean()),
  operator('$elemMatch', operator('$eq', fc.record({ key, value }))),
)
const predicate = fc
  .oneof(
    fc.tuple(fc.constant('application_version'), tied.condition),
    fc.tuple(
      fc.constantFrom('metadata.key', 'metadata.value', 'metadata.value.x', 'metadata.value.x.y'),
      tied.condition,
    ),
    fc.tuple(
      fc.constantFrom('alias.a', 'alias.b', 'alias.city', 'alias.a.x', 'alias.a.x.y', 'alias.b.y'),
      tied.condition,
    ),
    fc.tuple(fc.constantFrom('alias.a', 'alias.city', 'alias.a.x'), tied.condition),
    fc.tuple(fc.constant('metadata'), ofMetadata),
    fc.tuple(fc.constant('metadata'), ofMetadata),
  )
  .map(([name, condition]) => ({ [name]: condition }) as JsonObject)
const { query: anyQuery } = fc.letrec<{ query: JsonObject }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { arbitrary: predicate, weight: 5 },
    { arbitrary: fc.tuple(predicate, predicate).map(([a, b]) => ({ ...a, ...b })), weight: 2 },
    ...['$and', '$or', '$nor'].map((name) => ({
      arbitrary: operator(name, fc.array(tie('query'), { minLength: 1, maxLength: 3 })),
      weight: 1,
    })),
  ),
}))

/** Returns the query as the platform accepts it: `alias` in the reference implementation is `metadata` in the platform. */
const spelled = (reference: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(reference).replaceAll('"alias.', '"metadata.'))

/** Queries that exceed the limits of depth or operators are skipped. The unit tests check these limits. */
const query = anyQuery.filter((reference) => {
  try {
    return Boolean(parse(spelled(reference)))
  } catch (error) {
    if (/nested deeper|at most 200/.test(String(error))) return false
    throw error
  }
})

const endpoints = fc.sample(endpoint, { numRuns: 250, seed })
const settings = (runs: number) => ({ numRuns: Number(process.env.TEST_RUNS ?? runs), seed })

test('SQL, the evaluator and a reference implementation of MongoDB agree', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const count = { answers: 0, hits: 0, selective: 0 }
  const documents = endpoints.map(documentOf)
  await fc.assert(
    fc.asyncProperty(query, async (reference) => {
      const ours = spelled(reference)
      const matches = compile(parse(ours))
      const matchingIds = await inDatabase(ours)
      let hits = 0
      for (const [index, one] of endpoints.entries()) {
        const expected = filterHolds(reference, documents[index]!)
        assert.equal(matches(one), expected, `the evaluator: ${JSON.stringify(one)}`)
        assert.equal(matchingIds.has(index + 1), expected, `SQL: ${JSON.stringify(one)}`)
        if (expected) hits++
      }
      count.answers += endpoints.length
      count.hits += hits
      if (hits > 0 && hits < endpoints.length) count.selective++
    }),
    settings(250),
  )
  t.diagnostic(
    `${count.answers} answers, ${count.hits} hits; ${count.selective} queries matched some but not all endpoints`,
  )
})

test('keys that keysOf does not return cannot change the result', () => {
  fc.assert(
    fc.property(query, endpoint, endpoint, (reference, one, other) => {
      const parsed = parse(spelled(reference))
      const keys = keysOf(parsed)
      if (keys === 'any') return
      const kept = Object.entries(one.metadata).filter(([name]) => keys.has(name))
      const changed = Object.entries(other.metadata).filter(([name]) => !keys.has(name))
      const versionName = dependsOnVersion(parsed) ? one.versionName : other.versionName
      const matches = compile(parsed)
      assert.equal(matches({ versionName, metadata: Object.fromEntries([...kept, ...changed]) }), matches(one))
    }),
    settings(300),
  )
})
