import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyTime, Type } from '../schema.ts'
import { checkShape } from './validation.ts'

const schema = Type.Object({
  since: Type.Optional(BodyTime({ description: 'Since when.' })),
  names: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, uniqueItems: true })])),
})

test('an error names every type that a field may have, or what is wrong with a value of the right type', () => {
  for (const [body, message] of [
    [{ since: null }, 'since: expected a string or an integer'],
    [{ since: true, names: {} }, 'since: expected a string or an integer (and 1 more: names)'],
    [{ names: 5 }, 'names: expected a string or an array'],
    [{ names: [5] }, 'names.0: expected a string'],
    [{ names: [] }, 'names: expected at least 1 item'],
    [{ names: ['a', 'a'] }, 'names: expected no item twice'],
    [{ since: 1e15 }, 'since: expected a number <= 999999999999999'],
  ] as const)
    assert.throws(() => checkShape(schema, body, 'body'), { message }, JSON.stringify(body))
  checkShape(schema, { since: 'now-1d', names: ['a', 'b'] }, 'body')
})
