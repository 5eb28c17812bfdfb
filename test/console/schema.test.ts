/** Forms from JSON schemas: which control is used for a schema, even if the schema refers to itself or is very large. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  atField,
  fieldOf,
  fits,
  newValueOf,
  optionOf,
  pointer,
  withKey,
} from '../../console/src/parts/schema/schema.ts'

const kindOf = (schema: unknown, root: unknown = schema) => fieldOf(root, schema).control.kind

test('each kind of schema has its control; a value without a suitable control is edited as text', () => {
  const cases: [schema: unknown, kind: string][] = [
    [{ type: 'string' }, 'string'],
    [{ type: 'integer', minimum: 1 }, 'number'],
    [{ type: 'boolean' }, 'boolean'],
    [{ enum: ['a', 1, null] }, 'enum'],
    [{ const: 4 }, 'constant'],
    [{ type: 'array', items: { type: 'string' } }, 'array'],
    [{ type: 'array', items: [{ type: 'string' }] }, 'text'],
    [{ type: 'array' }, 'text'],
    [{ type: 'object', properties: { a: {} } }, 'object'],
    [{ type: 'object' }, 'text'],
    [{ properties: { a: true } }, 'object'],
    [{ type: ['string', 'number'] }, 'text'],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 'choice'],
    [{ not: {} }, 'text'],
    [true, 'text'],
    [null, 'text'],
    ['string', 'text'],
    [{ $ref: 'https://example.com/schema' }, 'text'],
    [{ enum: Array.from({ length: 10_000 }, (_, n) => n) }, 'text'],
  ]
  for (const [schema, kind] of cases) assert.equal(kindOf(schema), kind, JSON.stringify(schema)?.slice(0, 100))
  assert.equal(fieldOf({}, { type: ['string', 'null'] }).isNullable, true)
  const nullable = fieldOf({}, { oneOf: [{ type: 'null' }, { type: 'number' }] })
  assert.deepEqual([nullable.control.kind, nullable.isNullable], ['number', true])
})

test('references and allOf are followed; a schema that refers to itself is edited as text', () => {
  const root = {
    $defs: { 'a/b': { type: 'string' }, loop: { $ref: '#/$defs/loop' }, all: { allOf: [{ $ref: '#/$defs/all' }] } },
  }
  assert.equal(kindOf({ $ref: '#/$defs/a~1b' }, root), 'string')
  assert.equal(kindOf({ $ref: '#/$defs/loop' }, root), 'text')
  assert.equal(kindOf({ $ref: '#/$defs/all' }, root), 'text')
  assert.equal(kindOf({ $ref: '#/__proto__' }, root), 'text')
  assert.equal(kindOf({ $ref: '#/%' }, root), 'text')
  const self = { oneOf: [{ $ref: '#' }] }
  assert.equal(kindOf(self), 'text')
  const joined = fieldOf({}, { allOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }] })
  assert.ok(joined.control.kind === 'object')
  assert.deepEqual(joined.control.properties.map(([name]) => name).sort(), ['a', 'b'])
})

test('the initial value for a schema that refers to itself in many required fields is finite', () => {
  const names = Array.from({ length: 200 }, (_, n) => `key${n}`)
  const root = {
    type: 'object',
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
  }
  assert.ok(JSON.stringify(newValueOf(root, root)).length < 100_000)
  const kinds = {
    type: 'object',
    required: ['on', 'list', 'mode'],
    properties: {
      on: { type: 'boolean' },
      list: { type: 'array', items: {} },
      mode: { const: 'a' },
      other: { type: 'string', default: 'x' },
    },
  }
  assert.deepEqual(newValueOf(kinds, kinds), { on: false, list: [], mode: 'a' })
})

test('an alternative is recognised by its constant, its type and its keys', () => {
  const withKind = (kind: string, key: string) => ({
    type: 'object',
    properties: { kind: { const: kind }, [key]: { type: 'string' } },
    required: ['kind', key],
  })
  const options = [withKind('a', 'x'), withKind('b', 'y'), { type: 'string' }]
  assert.equal(optionOf({}, options, { kind: 'b', x: '1' }), 1)
  assert.equal(optionOf({}, options, { y: '1' }), 1)
  assert.equal(optionOf({}, options, 'text'), 2)
  assert.equal(optionOf({}, options, undefined), 0)
})

test('keys keep their order, hostile keys are treated as plain keys, and values that a control cannot show are not changed', () => {
  const object = JSON.parse('{"b": 1, "__proto__": 2, "a": 3}')
  assert.equal(JSON.stringify(withKey(object, 'b', 9)), '{"b":9,"__proto__":2,"a":3}')
  assert.equal(JSON.stringify(withKey(object, '__proto__', { x: 1 })), '{"b":1,"__proto__":{"x":1},"a":3}')
  assert.equal(JSON.stringify(withKey(object, '__proto__', undefined)), '{"b":1,"a":3}')
  assert.equal(pointer('/a', 'b/c~d'), '/a/b~1c~0d')
  assert.equal(fits(fieldOf({}, { type: 'string' }), 5), false)
  assert.equal(fits(fieldOf({}, { type: 'object', properties: { a: {} } }), []), false)
  assert.deepEqual(atField({ path: '/a', message: "must have required property 'b/c'" }).path, '/a/b~1c')
})
