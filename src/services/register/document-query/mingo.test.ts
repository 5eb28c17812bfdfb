/**
 * Compares the evaluator with mingo, another implementation of MongoDB queries. The README ("Tests against mingo") lists the cases in which
 * mingo differs from MongoDB. To avoid these cases, the documents have no arrays in key `a`, and no arrays inside arrays.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Query as Mingo } from 'mingo'
import { compile } from './evaluate.ts'
import { parse } from './parse.ts'
import type { Json, JsonObject } from './query.ts'

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)

const present = fc.constantFrom<Json>(true, false, 0, 1, 2, -1, -1.5, 7, '', 'a', 'ab', 'Kyiv')
const scalar = fc.oneof(present, fc.constant(null))
const flatObject = fc.dictionary(fc.constantFrom('x', 'y'), scalar, { noNullPrototype: true })
const structured = fc.oneof(scalar, flatObject)
const listed = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }))
const endpoint = fc.record({
  versionName: fc.constantFrom('a', 'ab', 'Kyiv'),
  metadata: fc.record({ a: structured, b: listed, city: listed }, { requiredKeys: [], noNullPrototype: true }),
})

const operator = (name: string, arg: fc.Arbitrary<unknown>) => arg.map((given) => ({ [name]: given }) as JsonObject)
const { condition } = fc.letrec<{ condition: JsonObject }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    ...['$eq', '$ne'].map((name) => operator(name, fc.oneof(scalar, flatObject, fc.array(scalar, { maxLength: 2 })))),
    ...['$gt', '$gte', '$lt', '$lte'].map((name) => operator(name, present)),
    ...['$in', '$nin'].map((name) => operator(name, fc.array(scalar, { maxLength: 3 }))),
    operator('$exists', fc.boolean()),
    operator('$regex', fc.constantFrom('a', '^a', 'b$', '.y')),
    operator('$not', tie('condition')),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => ({ ...a, ...b })),
  ),
}))

const key = fc.constantFrom('a', 'b', 'city')
const member = fc.oneof(
  fc.record({ key, value: condition }),
  fc.record({ key: fc.constant('a'), 'value.x': condition }),
  fc.record({ key: operator('$in', fc.array(key, { maxLength: 2 })), value: present }),
  fc.record({ key: operator('$regex', fc.constantFrom('^a', 'i')), value: condition }),
  operator('$or', fc.array(fc.record({ key, value: condition }), { minLength: 1, maxLength: 2 })),
)
const predicate = fc.oneof(
  operator('metadata', operator('$elemMatch', member)),
  operator('metadata', operator('$not', operator('$elemMatch', member))),
  operator('metadata', operator('$all', fc.array(operator('$elemMatch', member), { minLength: 1, maxLength: 2 }))),
  operator('metadata', operator('$size', fc.nat(3))),
  operator('application_version', condition),
  operator('metadata.key', fc.oneof(key, operator('$in', fc.array(key)), operator('$regex', fc.constant('^c')))),
  operator('metadata.key', operator('$ne', key)),
  operator('metadata.value', present),
  operator('metadata.value', operator('$regex', fc.constantFrom('a', '^K'))),
  fc
    .tuple(fc.constantFrom('alias.a', 'alias.b', 'alias.city', 'alias.a.x'), condition)
    .map(([name, one]) => ({ [name]: one })),
)
const { query } = fc.letrec<{ query: JsonObject }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: predicate, weight: 4 },
    ...['$and', '$or', '$nor'].map((name) => ({
      arbitrary: operator(name, fc.array(tie('query'), { minLength: 1, maxLength: 3 })),
      weight: 1,
    })),
  ),
}))

test('for queries that mingo evaluates like MongoDB, the evaluator has the same results as mingo', (t) => {
  t.diagnostic(`seed ${seed}`)
  const endpoints = fc.sample(endpoint, { numRuns: 150, seed })
  const documents = endpoints.map(({ versionName, metadata }) => ({
    application_version: versionName,
    metadata: Object.entries(metadata).map(([name, value]) => ({ key: name, value })),
    alias: metadata,
  }))
  fc.assert(
    fc.property(query, (reference) => {
      const mingo = new Mingo(reference as never)
      const matches = compile(parse(JSON.parse(JSON.stringify(reference).replaceAll('"alias.', '"metadata.'))))
      for (const [index, one] of endpoints.entries())
        assert.equal(matches(one as never), mingo.test(documents[index]!), JSON.stringify(one))
    }),
    { numRuns: Number(process.env.TEST_RUNS ?? 250), seed },
  )
})
