import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { afterAllTests, freshDatabase } from '../../../../test/harness/database.ts'
import { connect, type Pool } from '../../../kernel/db.ts'
import { compareText, matches } from './evaluate.ts'
import { dependsOnVersion, keysOf } from './keys.ts'
import { DocumentQueryError, parse } from './parse.ts'
import type { JsonObject } from './query.ts'
import { toSql } from './sql.ts'

let sql: Pool

before(async () => {
  sql = connect(await freshDatabase(), { max: 1 })
  afterAllTests(() => sql.end())
})

async function inDatabase(query: unknown, metadata: JsonObject, versionName: string | null): Promise<boolean> {
  const condition = toSql(sql, parse(query), { metadata: 'e.metadata', versionName: 'e.version_name' })
  const rows = await sql`
    select 1 from (select ${sql.json(metadata as never)}::jsonb as metadata, ${versionName}::text as version_name) e
    where ${condition}`
  return rows.length === 1
}

/** Each query, with metadata that it matches and metadata that it does not match. */
const cases: [query: unknown, matching: JsonObject[], others: JsonObject[]][] = [
  [{}, [{}, { a: 1 }], []],
  ['{"metadata.a": 1}', [{ a: 1 }], [{}]],

  // These queries use $elemMatch on the list `metadata`.
  [
    { metadata: { $elemMatch: { key: 'city', value: 'Kyiv' } } },
    [{ city: 'Kyiv' }, { city: ['Kyiv', 1] }],
    [{ city: 'Lviv' }, { town: 'Kyiv' }, {}],
  ],
  [
    { metadata: { $elemMatch: { key: 't', value: { $gt: 5 } } } },
    [{ t: 6 }, { t: [1, 9] }],
    [{ t: 5 }, { t: '6' }, { u: 6 }, { t: [[9]] }],
  ],
  [{ metadata: { $elemMatch: { key: 't', value: null } } }, [{ t: null }, { t: [null] }], [{}, { t: 0 }]],
  [
    { metadata: { $elemMatch: { key: 't', value: { $ne: 1 } } } },
    [{ t: 2 }, { t: null }],
    [{ t: 1 }, {}, { t: [1, 2] }],
  ],
  [
    { metadata: { $elemMatch: { key: { $in: ['a', 'b'] }, value: 1 } } },
    [{ a: 1 }, { b: 1, a: 2 }],
    [{ c: 1 }, { a: 2 }],
  ],
  [{ metadata: { $elemMatch: { key: { $regex: '^te' }, value: { $gt: 5 } } } }, [{ temp: 6 }], [{ temp: 5, x: 6 }]],
  [{ metadata: { $elemMatch: { $or: [{ key: 'a', value: 1 }, { key: 'b' }] } } }, [{ a: 1 }, { b: 0 }], [{ a: 2 }, {}]],
  [
    { metadata: { $elemMatch: { key: 'pos', 'value.lat': { $gte: 50 } } } },
    [{ pos: { lat: 50 } }, { pos: [{ lat: 51 }] }],
    [{ pos: { lat: 49 } }, { pos: 50 }],
  ],
  [{ metadata: { $elemMatch: { key: 'key', value: 'value' } } }, [{ key: 'value' }], [{ value: 'key' }]],
  [{ metadata: { $elemMatch: {} } }, [{ a: null }], [{}]],
  [{ metadata: { $not: { $elemMatch: { key: 'a', value: 1 } } } }, [{}, { a: 2 }], [{ a: 1 }]],
  [
    { metadata: { $all: [{ $elemMatch: { key: 'a', value: 1 } }, { $elemMatch: { key: 'b' } }] } },
    [{ a: 1, b: 0 }],
    [{ a: 1 }, { a: 2, b: 0 }],
  ],
  [{ metadata: { $size: 2 } }, [{ a: 1, b: 2 }], [{}, { a: 1 }]],
  [{ metadata: { $size: 0 } }, [{}], [{ a: 1 }]],
  [{ metadata: { key: 'a', value: [1] } }, [{ a: [1] }], [{ a: 1 }, { a: [1, 2] }, { a: [[1]] }]],
  [{ metadata: { value: 1, key: 'a' } }, [{ a: 1 }], [{ a: [1] }, {}]],
  [{ metadata: null }, [], [{}, { a: null }]],
  [{ metadata: { $exists: true, $type: 'array' } }, [{}, { a: 1 }], []],
  [{ metadata: { $type: 'object' } }, [{ a: 1 }], [{}]],
  [{ metadata: { $gt: 1 } }, [], [{ a: 2 }]],

  // These queries use paths into the items of the list `metadata`.
  [{ 'metadata.key': 'a' }, [{ a: null }], [{}, { b: 'a' }]],
  [{ 'metadata.key': { $ne: 'a' } }, [{}, { b: 1 }], [{ a: 1, b: 1 }]],
  [{ 'metadata.key': { $regex: '^t', $options: 'i' } }, [{ Temp: 1 }], [{ a: 1 }]],
  [{ 'metadata.value': 5 }, [{ a: 5 }, { a: [5] }], [{ a: '5' }, { a: [[5]] }]],
  [{ 'metadata.value': { $gt: 1, $lt: 0 } }, [{ a: 2, b: -1 }], [{ a: 2 }]],
  [
    { 'metadata.value.lat': null },
    [{ a: 1 }, { a: { lat: null } }, { a: [{}] }],
    [{}, { a: { lat: 1 } }, { a: [] }, { a: [1] }],
  ],
  [{ 'metadata.value': { $exists: false } }, [{}], [{ a: null }]],
  [{ 'metadata.value': { $size: 1 } }, [{ a: [0] }], [{ a: 1 }]],

  // These queries test equality with the alias `metadata.<key>`, which MongoDB does not have.
  [{ 'metadata.a': 1 }, [{ a: 1 }, { a: [1] }], [{ a: '1' }, { a: true }, { a: [[1]] }, {}]],
  [{ 'metadata.a': 'x' }, [{ a: 'x' }, { a: ['y', 'x'] }], [{ a: { x: 'x' } }]],
  [{ 'metadata.a': -1.5 }, [{ a: -1.5 }], [{ a: 1.5 }]],
  [{ 'metadata.a': true }, [{ a: true }], [{ a: 1 }, { a: 'true' }]],
  [{ 'metadata.a': null }, [{}, { a: null }, { a: [null] }], [{ a: 0 }, { a: [] }, { a: '' }]],
  [{ 'metadata.a': { $ne: null } }, [{ a: 0 }, { a: [] }], [{}, { a: null }]],
  [{ 'metadata.a': [1, 2] }, [{ a: [1, 2] }, { a: [[1, 2]] }], [{ a: [2, 1] }, { a: [1, 2, 3] }, { a: 1 }]],
  [
    { 'metadata.a': { x: 1, y: { z: null } } },
    [{ a: { y: { z: null }, x: 1 } }, { a: [{ x: 1, y: { z: null } }] }],
    [{ a: { x: 1, y: {} } }, { a: { x: 1, y: { z: null }, w: 1 } }],
  ],
  [{ 'metadata.a': {} }, [{ a: {} }, { a: [{}] }], [{ a: { x: 1 } }, {}, { a: [] }]],
  [{ 'metadata.a': [] }, [{ a: [] }, { a: [[]] }], [{}, { a: [1] }]],
  [
    { 'metadata.a.x.y': 1 },
    [{ a: { x: { y: 1 } } }, { a: [{ x: [{ y: [1] }] }] }],
    [{ a: { x: 1 } }, { a: [[{ x: { y: 1 } }]] }],
  ],
  [
    { 'metadata.a.x': null },
    [{}, { a: 5 }, { a: null }, { a: {} }, { a: [{}, { x: 1 }] }],
    [{ a: [] }, { a: [5] }, { a: { x: 1 } }],
  ],
  [{ 'metadata.0': 1 }, [{ 0: 1 }], [{ a: [1] }]],
  [{ 'metadata.a': { $in: [1, 'x', null] } }, [{ a: 1 }, { a: 'x' }, {}, { a: ['x'] }], [{ a: 2 }]],
  [{ 'metadata.a': { $nin: [1, 'x'] } }, [{}, { a: 2 }], [{ a: 1 }, { a: [3, 'x'] }]],
  [{ 'metadata.a': { $in: [] } }, [], [{}, { a: 1 }]],
  [{ 'metadata.a': { $nin: [] } }, [{}], []],
  [
    { 'metadata.a': { $in: Array.from({ length: 50 }, (_, index) => `v${index}`) } },
    [{ a: 'v49' }, { a: ['v1'] }],
    [{ a: 'v50' }, {}],
  ],
  [{ 'metadata.a': { $in: Array.from({ length: 50 }, (_, index) => -index) } }, [{ a: -49 }, { a: [0] }], [{ a: 1 }]],
  [{ 'metadata.__proto__': 1, 'metadata.constructor': { $exists: false } }, [JSON.parse('{"__proto__": 1}')], [{}]],

  // Comparisons only match values of the same type.
  [
    { 'metadata.a': { $gt: 5 } },
    [{ a: 6 }, { a: 5.1 }],
    [{ a: 5 }, { a: '9' }, { a: true }, { a: null }, {}, { a: {} }],
  ],
  [{ 'metadata.a': { $gte: -5, $lte: 5 } }, [{ a: -5 }, { a: 5 }, { a: [-9, 9, 0] }], [{ a: 6 }]],
  [{ 'metadata.a': { $lt: 'b' } }, [{ a: 'a' }, { a: '' }, { a: 'B' }], [{ a: 'b' }, { a: 1 }]],
  [{ 'metadata.a': { $gt: '\uffff' } }, [{ a: '😀' }], [{ a: '\uffee' }]],
  [{ 'metadata.a': { $lt: true } }, [{ a: false }], [{ a: true }, { a: 0 }]],
  [{ 'metadata.a': { $gte: null } }, [{}, { a: null }], [{ a: 0 }]],
  [{ 'metadata.a': { $gt: null } }, [], [{}, { a: null }, { a: 0 }]],
  [{ 'metadata.a': { $not: { $gt: 5 } } }, [{}, { a: 5 }, { a: 'x' }], [{ a: 6 }]],
  [{ 'metadata.a': { $gt: 1e300 } }, [{ a: 1e301 }], [{ a: 1e299 }]],
  [{ 'metadata.a': 5e-324 }, [{ a: 5e-324 }], [{ a: 0 }]],

  // These queries combine conditions.
  [{ 'metadata.a': 1, 'metadata.b': 2 }, [{ a: 1, b: 2 }], [{ a: 1 }, { b: 2 }]],
  [{ $or: [{ 'metadata.a': 1 }, { 'metadata.b': 2 }] }, [{ a: 1 }, { b: 2 }], [{ a: 2, b: 1 }]],
  [{ $nor: [{ 'metadata.a': 1 }, { 'metadata.b': 2 }] }, [{}, { a: 2 }], [{ a: 1 }, { b: 2 }]],
  [{ $and: [{ $nor: [{ $nor: [{ 'metadata.a': 1 }] }] }] }, [{ a: 1 }], [{}]],
  [{ 'metadata.a': { $not: { $not: { $eq: 1 } } } }, [{ a: 1 }], [{}]],

  // These queries use the other operators.
  [{ 'metadata.a': { $exists: true } }, [{ a: null }, { a: [] }], [{}]],
  [
    { 'metadata.a.x': { $exists: false } },
    [{}, { a: 1 }, { a: [{}] }, { a: [] }],
    [{ a: { x: null } }, { a: [{}, { x: 1 }] }],
  ],
  [{ 'metadata.a': { $exists: 0 } }, [{}], [{ a: 1 }]],
  [{ 'metadata.a': { $regex: '^Ky.v$' } }, [{ a: 'Kyiv' }, { a: ['x', 'Kyiv'] }], [{ a: 'kyiv' }, { a: 1 }, {}]],
  [{ 'metadata.a': { $regex: 'КИЇВ', $options: 'i' } }, [{ a: 'місто київ' }], [{ a: 'львів' }]],
  [{ 'metadata.a': { $not: { $regex: 'x' } } }, [{}, { a: 1 }], [{ a: 'x' }]],
  [{ 'metadata.a': { $regex: '"\\\\' } }, [{ a: '"\\' }], [{ a: '"' }]],
  [{ 'metadata.a': { $elemMatch: { $gt: 1, $lt: 3 } } }, [{ a: [2] }], [{ a: 2 }, { a: [1, 3] }, { a: [[2]] }]],
  [
    { 'metadata.a': { $elemMatch: { x: 1, y: 2 } } },
    [{ a: [{ x: 1, y: 2 }] }],
    [{ a: [{ x: 1 }, { y: 2 }] }, { a: { x: 1, y: 2 } }],
  ],
  [{ 'metadata.a': { $elemMatch: { $elemMatch: { $eq: 1 } } } }, [{ a: [[1]] }], [{ a: [1] }]],
  [
    { 'metadata.a': { $elemMatch: { x: { $exists: false } } } },
    [{ a: [{}] }, { a: [[]] }],
    [{ a: [1] }, { a: [{ x: 1 }] }],
  ],
  [{ 'metadata.a': { $elemMatch: { $nin: [1, 2] } } }, [{ a: [1, 3] }], [{ a: [1, 2] }, { a: [] }, { a: 3 }]],
  [{ 'metadata.a': { $all: ['x', 'y'] } }, [{ a: ['y', 'z', 'x'] }], [{ a: ['x'] }, { a: 'x' }]],
  [{ 'metadata.a': { $all: ['x'] } }, [{ a: 'x' }, { a: ['x'] }], [{}]],
  [{ 'metadata.a': { $all: [[1, 2]] } }, [{ a: [1, 2] }, { a: [[1, 2]] }], [{ a: 1 }]],
  [{ 'metadata.a': { $all: [] } }, [], [{ a: [] }, {}]],
  [{ 'metadata.a': { $size: 2 } }, [{ a: [1, [2, 3]] }], [{ a: [1] }, { a: { x: 1, y: 2 } }, { a: [[1, 2]] }]],
  [
    { 'metadata.a': { $mod: [4, 1] } },
    [{ a: 5 }, { a: 5.9 }, { a: [1] }],
    [{ a: 4 }, { a: '5' }, { a: -5 }, { a: 2 ** 60 + 1 }],
  ],
  [{ 'metadata.a': { $mod: [-4, -1] } }, [{ a: -5 }, { a: -5.5 }], [{ a: 5 }, { a: -4 }]],
  [{ 'metadata.a': { $mod: [3, 0] } }, [{ a: 0 }, { a: -0.5 }, { a: -3 }], [{ a: 1 }]],
  [{ 'metadata.a': { $type: 'number' } }, [{ a: 1 }, { a: 1.5 }, { a: ['x', 1] }], [{ a: '1' }, {}]],
  [{ 'metadata.a': { $type: 'int' } }, [{ a: -(2 ** 31) }, { a: 2 ** 31 - 1 }], [{ a: 2 ** 31 }, { a: 1.5 }]],
  [{ 'metadata.a': { $type: 18 } }, [{ a: 2 ** 31 }, { a: 2 ** 62 }], [{ a: 1 }, { a: 2 ** 63 }, { a: -(2 ** 63) }]],
  [{ 'metadata.a': { $type: 'double' } }, [{ a: 1.5 }, { a: 1e30 }], [{ a: 1 }]],
  [{ 'metadata.a': { $type: ['array', 'null'] } }, [{ a: [] }, { a: null }, { a: [1] }], [{}, { a: 1 }]],
  [{ 'metadata.a': { $type: 'object' } }, [{ a: {} }, { a: [{}] }], [{ a: [] }, { a: null }]],
  [{ 'metadata.a': { $type: 'bool' } }, [{ a: false }], [{ a: 0 }]],
  [{ 'metadata.a': { $type: 'date' } }, [], [{ a: '2026-01-01T00:00:00Z' }]],

  // Connectivity is queried like any other metadata.
  [{ 'metadata.connected': true }, [{ connected: true, connectivity_ts: 1 }], [{ connected: false }]],
]

for (const [query, matching, others] of cases)
  test(`${JSON.stringify(query).slice(0, 100)} matches the expected metadata, in memory and in SQL`, async () => {
    for (const [metadata, expected] of [
      ...matching.map((one) => [one, true] as const),
      ...others.map((one) => [one, false] as const),
    ]) {
      assert.equal(
        matches(parse(query), { versionName: 'v1', metadata }),
        expected,
        `memory: ${JSON.stringify(metadata)}`,
      )
      assert.equal(await inDatabase(query, metadata, 'v1'), expected, `SQL: ${JSON.stringify(metadata)}`)
    }
  })

const versionCases: [condition: unknown, matching: (string | null)[], others: (string | null)[]][] = [
  ['v1', ['v1'], ['v2', 'v10', null]],
  [{ $ne: 'v1' }, ['v2', null], ['v1']],
  [{ $in: ['v1', 'v2', 5] }, ['v1', 'v2'], ['v3', null]],
  [{ $nin: ['v1', 'v2'] }, ['v3', null], ['v1']],
  [null, [null], ['v1']],
  [5, [], ['5', null]],
  [{ $gte: 'v2' }, ['v2', 'v3', 'w'], ['v1', 'V3', null]],
  [{ $lt: 5 }, [], ['1', null]],
  [{ $regex: '^V\\d$', $options: 'i' }, ['v1'], ['v10', null]],
  [{ $not: { $regex: '1' } }, ['v2', null], ['v1']],
  [{ $exists: true }, ['v1'], [null]],
  [{ $type: 'string' }, ['v1'], [null]],
  [{ $type: 'number' }, [], ['1']],
  [{ $size: 1 }, [], ['v']],
  [{ $all: ['v1'] }, ['v1'], ['v2']],
]

for (const name of ['application_version', 'applicationVersion', 'appVersion.name'])
  test(`${name} accepts every operator`, async () => {
    for (const [condition, matching, others] of versionCases)
      for (const versionName of [...matching, ...others]) {
        const expected = matching.includes(versionName)
        const query = { [name]: condition }
        assert.equal(
          matches(parse(query), { versionName, metadata: {} }),
          expected,
          JSON.stringify([query, versionName]),
        )
        assert.equal(await inDatabase(query, {}, versionName), expected, `SQL: ${JSON.stringify([query, versionName])}`)
      }
  })

const deep = (levels: number): JsonObject => (levels ? { $and: [deep(levels - 1)] } : {})

const invalidQueries: [query: unknown, path: string, problem: RegExp][] = [
  [5, '', /not a JSON object/],
  [[], '', /not a JSON object/],
  [null, '', /not a JSON object/],
  ['{', '', /not valid JSON/],
  ['[]', '', /not a JSON object/],
  [{ $where: 'true' }, '$where', /\$where is not supported/],
  [{ $expr: {} }, '$expr', /\$expr is not supported/],
  [{ 'metadata.a': { $function: {} } }, 'metadata.a.$function', /no operator \$function/],
  [{ $foo: 1 }, '$foo', /no operator \$foo/],
  [{ 'metadata.a': { $near: 1 } }, 'metadata.a.$near', /no operator/],
  [{ 'metadata.a': { constructor: 1, $gt: 1 } }, 'metadata.a.constructor', /cannot be mixed/],
  [{ city: 'Kyiv' }, 'city', /no such field/],
  [{ application_version: 'a', 'application_version.x': 1 }, 'application_version.x', /no such field/],
  [{ metadata: { $elemMatch: { name: 'a' } } }, 'metadata.$elemMatch.name', /fields key and value/],
  [{ metadata: { $elemMatch: 5 } }, 'metadata.$elemMatch', /object is expected/],
  [{ metadata: [{ key: 'a', value: 1 }] }, 'metadata', /no order/],
  [{ 'metadata.value.0': 1 }, 'metadata.value.0', /positions/],
  [{ 'metadata.a..b': 1 }, 'metadata.a..b', /empty/],
  [{ 'metadata.a.$b': 1 }, 'metadata.a.$b', /starts with \$/],
  [{ $and: [] }, '$and', /at least one/],
  [{ $or: {} }, '$or', /at least one/],
  [{ $and: [5] }, '$and.0', /object is expected/],
  [{ 'metadata.a': { $in: 5 } }, 'metadata.a.$in', /list is expected/],
  [{ 'metadata.a': { $in: [{ $gt: 1 }] } }, 'metadata.a.$in.0.$gt', /operator cannot stand inside a value/],
  [{ 'metadata.a': { b: { $gt: 1 } } }, 'metadata.a.b.$gt', /operator cannot stand inside a value/],
  [{ 'metadata.a': { $gt: [1] } }, 'metadata.a.$gt', /a number, a text/],
  [{ 'metadata.a': { $not: 5 } }, 'metadata.a.$not', /operators are expected/],
  [{ 'metadata.a': { $exists: 'yes' } }, 'metadata.a.$exists', /true or false/],
  [{ 'metadata.a': { $regex: 5 } }, 'metadata.a.$regex', /pattern is expected/],
  [{ 'metadata.a': { $regex: '(' } }, 'metadata.a.$regex', /parenthesis/],
  [{ 'metadata.a': { $regex: 'a', $options: 'q' } }, 'metadata.a.$regex', /options are/],
  [{ 'metadata.a': { $options: 'i' } }, 'metadata.a.$options', /needs \$regex/],
  [{ 'metadata.a': { $size: -1 } }, 'metadata.a.$size', /whole number/],
  [{ 'metadata.a': { $size: 1.5 } }, 'metadata.a.$size', /whole number/],
  [{ 'metadata.a': { $mod: [0, 1] } }, 'metadata.a.$mod', /divisor is 0/],
  [{ 'metadata.a': { $mod: [1] } }, 'metadata.a.$mod', /two whole numbers/],
  [{ 'metadata.a': { $mod: [1, 2, 3] } }, 'metadata.a.$mod', /two whole numbers/],
  [{ 'metadata.a': { $mod: null } }, 'metadata.a.$mod', /two whole numbers/],
  [{ 'metadata.a': { $type: 'text' } }, 'metadata.a.$type', /the types are double, string/],
  [{ 'metadata.a': { $type: [] } }, 'metadata.a.$type', /at least one type/],
  [{ 'metadata.a': { $all: [{ $elemMatch: {} }, 5] } }, 'metadata.a.$all.1', /only \{"\$elemMatch"/],
  [{ 'metadata.a': 'x\0' }, 'metadata.a', /not valid text/],
  [{ 'metadata.a': '\ud800' }, 'metadata.a', /not valid text/],
  ['{"metadata.a": 1e999}', 'metadata.a', /out of range/],
  [{ 'metadata.a': 'x'.repeat(5000) }, 'metadata.a', /4096 characters/],
  [{ 'metadata.a': { $in: Array(1001).fill(1) } }, 'metadata.a.$in', /1000 values/],
  [deep(17), `${Array(16).fill('$and.0').join('.')}.$and.0`, /deeper than 16/],
  [{ $or: Array(201).fill({ 'metadata.a': 1 }) }, '$or.199.metadata.a', /200 operators/],
  [' '.repeat(100_001), '', /too long/],
]

for (const [query, path, problem] of invalidQueries)
  test(`${JSON.stringify(query).slice(0, 80)} is rejected with a message and the path`, () => {
    assert.throws(
      () => parse(query),
      (error) => {
        assert.ok(error instanceof DocumentQueryError, String(error))
        assert.match(error.message, problem)
        assert.equal(error.path, path)
        return true
      },
    )
  })

test('keysOf returns the metadata keys that can change the result of a query; dependsOnVersion returns whether the version can', () => {
  const dependenciesOf = (query: unknown) => {
    const keys = keysOf(parse(query))
    return [keys === 'any' ? keys : [...keys].sort().join(), dependsOnVersion(parse(query))]
  }
  assert.deepEqual(dependenciesOf({}), ['', false])
  assert.deepEqual(dependenciesOf({ application_version: 'a' }), ['', true])
  assert.deepEqual(dependenciesOf({ metadata: { $elemMatch: { key: 'a', value: 1 } } }), ['a', false])
  assert.deepEqual(
    dependenciesOf({ $nor: [{ 'metadata.a.x': 1 }, { applicationVersion: 'b', 'metadata.b': { $ne: 1 } }] }),
    ['a,b', true],
  )
  assert.deepEqual(dependenciesOf({ metadata: { $elemMatch: { key: { $in: ['a', 'b'] } } } }), ['a,b', false])
  assert.deepEqual(dependenciesOf({ 'metadata.key': 'a' }), ['a', false])
  assert.deepEqual(dependenciesOf({ 'metadata.value': 1 }), ['any', false])
  assert.deepEqual(dependenciesOf({ metadata: { $size: 1 }, application_version: 'a' }), ['any', true])
})

test('texts are ordered by code point', () => {
  const texts = ['', 'a', 'aa', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '😀a', '😁']
  for (const [i, a] of texts.entries())
    for (const [j, b] of texts.entries()) assert.equal(Math.sign(compareText(a, b)), Math.sign(i - j), `${a} ${b}`)
})
