import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JavaThrow } from './errors.ts'
import { type DocumentMap, fromPlain, JsonError, parseDocument, toPlain, writeDocument } from './json.ts'
import { startMeter } from './meter.ts'
import { javaClassOf } from './values.ts'

test('integers keep 64 bits and more, and 5 and 5.0 stay different', () => {
  startMeter()
  const text =
    '{"int":5,"double":5.0,"long":9007199254740993,"min":-9223372036854775808,"big":123456789012345678901234567890,"zero":-0.0,"small":1e-7}'
  const document = parseDocument(text) as DocumentMap
  const classes = [...document.values()].map((value) => javaClassOf(value).replace(/^.*\./, ''))
  assert.deepEqual(classes, ['Integer', 'Double', 'Long', 'Long', 'BigInteger', 'Double', 'Double'])
  assert.equal(writeDocument(document), text)
})

/** Converts bigints to numbers. A long that a number cannot represent stays a bigint, while JSON.parse rounds it. */
const asNumbers = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? Number(item) : item)))

test('every JSON value is read and written as JSON.parse and JSON.stringify do', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      startMeter()
      const text = JSON.stringify(value)
      const document = parseDocument(text)
      assert.deepEqual(JSON.parse(writeDocument(document)), JSON.parse(text))
      assert.deepEqual(asNumbers(toPlain(document)), JSON.parse(text))
      assert.deepEqual(asNumbers(toPlain(fromPlain(JSON.parse(text)))), JSON.parse(text))
    }),
  )
})

test('names such as __proto__ are ordinary fields', () => {
  startMeter()
  const document = parseDocument('{"__proto__":{"polluted":true},"constructor":1}') as DocumentMap
  assert.deepEqual([...document.keys()], ['__proto__', 'constructor'])
  assert.equal(writeDocument(document), '{"__proto__":{"polluted":true},"constructor":1}')
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('text that is not JSON is rejected with the position of the error', () => {
  const wrong = [
    '',
    '{',
    '[1,]',
    '{"a" 1}',
    '{"a":1,}',
    '01',
    '1 2',
    'nul',
    '"\u0001"',
    '"\\x"',
    '{a:1}',
    '+1',
    '.5',
    '1.',
    "'a'",
    `${'['.repeat(300)}`,
  ]
  for (const text of wrong) assert.throws(() => parseDocument(text), JsonError, text)
})

test('documents that contain themselves or are too large are rejected', () => {
  startMeter()
  const loop: unknown[] = []
  loop.push(loop)
  assert.throws(() => writeDocument(loop), JavaThrow)
  const text = 'x'.repeat(10_000)
  assert.throws(() => writeDocument(new Array(10_000).fill(text)), /too large/)
  let doubling: unknown = [1]
  for (let index = 0; index < 100; index++) doubling = [doubling, doubling]
  assert.throws(() => writeDocument(doubling), /too large/)
})

test('short numbers and plain texts, which have faster code of their own, give the same results as JSON of JavaScript', () => {
  const numbers = ['0', '-0', '7', '-7', '10', '123456789', '-123456789', '1234567890', '2147483647', '2147483648']
  for (const text of [...numbers, '1.5', '1e3', '-1E-2', '123456789.25'])
    assert.equal(Number(toPlain(parseDocument(text))), Number(text) + 0, text)
  for (const text of ['-', '01', '-01', '1.', '1e', '.5', '+1', '1a', '00'])
    assert.throws(() => parseDocument(text), text)
  const texts = [
    '',
    ' ',
    'a"b',
    'a\\b',
    '[]',
    '\n',
    '\u007f',
    'ä',
    '\u2028',
    '\ud800',
    '~!#',
    'x'.repeat(101),
    '"'.repeat(101),
  ]
  for (const text of texts) assert.equal(writeDocument(text), JSON.stringify(text))
  assert.equal(
    writeDocument(new Map(texts.map((text) => [text, 1]))),
    `{${texts.map((text) => `${JSON.stringify(text)}:1`)}}`,
  )
})
