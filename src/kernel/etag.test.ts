import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkIfMatch, etagOf, notModified } from './etag.ts'

const etag = '"abc"'

test('If-None-Match matches the current ETag in every spelling that clients use', () => {
  for (const header of ['"abc"', 'abc', 'W/"abc"', '"x", "abc"', '*', ' "abc" '])
    assert.equal(notModified({ 'if-none-match': header }, etag), true, header)
})

test('an If-None-Match that is empty or has only other ETags does not match', () => {
  for (const header of [undefined, '', '  ', '"x"', '"ab"', 'abcd'])
    assert.equal(notModified({ 'if-none-match': header }, etag), false, String(header))
})

test('If-Match accepts the current ETag and rejects every other value', () => {
  for (const header of [undefined, '', '"abc"', 'abc', '*']) checkIfMatch(header, etag)
  for (const header of ['"x"', '"abcd"', '"x", "y"']) assert.throws(() => checkIfMatch(header, etag), { status: 412 })
})

test('for a missing resource, If-Match fails even with the value *', () => {
  for (const header of ['*', '"abc"']) assert.throws(() => checkIfMatch(header, undefined), { status: 412 })
})

test('an ETag depends on every part and on the boundaries between the parts', () => {
  assert.equal(etagOf('a', { b: 1 }), etagOf('a', { b: 1 }))
  assert.notEqual(etagOf('ab', 'c'), etagOf('a', 'bc'))
})
