import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from './shapes.ts'

const shapesOf = (type: typeof Type) => ({
  plain: [type.String(), type.Integer(), type.Boolean(), type.Null(), type.Unknown()],
  options: [
    type.String({ maxLength: 3, description: 'a text' }),
    type.Integer({ minimum: 1 }),
    type.Boolean({ default: true }),
    type.Null({ description: 'nothing' }),
    type.Unknown({ description: 'anything' }),
  ],
  unsafe: type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 3 }),
  literals: [type.Literal('a'), type.Literal(1, { description: 'one' }), type.Literal(true)],
  enums: [type.Enum(['a', 'b']), type.Enum(['a'], { default: 'a' })],
  arrays: [type.Array(type.String()), type.Array(type.Integer(), { maxItems: 2 })],
  union: type.Union([type.String(), type.Null()], { description: 'a text or nothing' }),
  record: type.Record(type.String(), type.Array(type.Integer()), { description: 'by name' }),
  empty: type.Object({}),
  object: type.Object(
    { b: type.String(), a: type.Optional(type.Object({ c: type.Integer() })), d: type.Optional(type.Enum(['x'])) },
    { additionalProperties: false, examples: [{ b: 'x' }] },
  ),
  allOptional: type.Object({ a: type.Optional(type.String()) }),
  partial: type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Integer()) })),
  /** Optional properties of a shape stay optional when another shape uses them. */
  taken: type.Object({
    ...type.Partial(type.Object({ a: type.String() })).properties,
    ...type.Object({ b: type.Optional(type.String()), c: type.Null() }).properties,
  }),
})

test('a shape is the same JSON schema as TypeBox builds, including the order of keys', () => {
  const [ours, theirs] = [shapesOf(Type), shapesOf(TypeBox)]
  for (const name of Object.keys(theirs) as (keyof typeof theirs)[])
    assert.equal(JSON.stringify(ours[name]), JSON.stringify(theirs[name]), name)
})

test('the mark of an optional shape is not enumerable, and the original shape is not changed', () => {
  const text = Type.String()
  const maybe = Type.Optional(text)
  assert.deepEqual(Object.keys(maybe), ['type'])
  assert.deepEqual(Type.Object({ text, maybe }).required, ['text'])
})
