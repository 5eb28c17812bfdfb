import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { hostileBodies, largestAccepted, mebibyte } from '../../../test/harness/hostile-json.ts'
import { referenceParseJson } from '../../../test/harness/reference-parse-json.ts'
import { threadCpuMs } from '../../../test/harness/thread-time.ts'
import { PlatformError } from '../errors.ts'
import { parseJson } from './body.ts'

type Reading = Parameters<typeof parseJson>[1]

/** Returns the parsed value, or the text of the error. */
function outcome(parse: typeof parseJson, text: string | Buffer, reading?: Reading): unknown {
  try {
    return { value: parse(Buffer.from(text), reading) }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return error.message
  }
}
const read = (text: string | Buffer, reading?: Reading) => outcome(parseJson, text, reading)

const isAccepted = (body: Buffer) => typeof read(body) === 'object'

suite('a body of at most a mebibyte takes at most 60 ms of processor time', () => {
  for (const [name, make] of Object.entries(hostileBodies)) {
    test(`the hostile body with ${name} is parsed or rejected within 60 ms`, () => {
      const body = make()
      assert.ok(body.length <= mebibyte, `${body.length} bytes`)
      const ms = threadCpuMs(() => read(body), 60)
      assert.ok(ms < 60, `${ms} ms`)
    })
    test(`the largest accepted body with ${name} is parsed within 60 ms`, () => {
      const body = largestAccepted(make, isAccepted)
      const ms = threadCpuMs(() => read(body), 60)
      assert.ok(ms < 60, `${ms} ms for ${body.length} bytes`)
    })
  }
})

suite('a body with too many values is rejected with a message', () => {
  const tooMuch =
    'body: holds too many values; expected at most 400000, where an array counts as 4, a text as 5, an object as 7 and each new name as 16'
  const accepted: [string, string][] = [
    ['399,000 numbers', `[${Array(399_000).fill(1)}]`],
    ['20,000 samples', `[${Array(20_000).fill('{"timestamp":1767323045678,"values":{"value":21.5}}')}]`],
    ['79,000 texts', `[${Array(79_000).fill('"a"')}]`],
    ['20,000 names', `{${Array.from({ length: 20_000 }, (_, n) => `"${n}":0`)}}`],
    ['names that repeat', `[${Array(20_000).fill('{"a":1,"b":2}')}]`],
    ['65,000 coordinates', `[${Array(65_000).fill('[50.45,30.52]')}]`],
  ]
  for (const [name, text] of accepted) test(`${name} are accepted`, () => assert.ok(isAccepted(Buffer.from(text))))
  const refused: [string, string][] = [
    ['400,000 numbers', `[${Array(400_000).fill(1)}]`],
    ['80,001 texts', `[${Array(80_001).fill('""')}]`],
    ['60,000 objects', `[${Array(60_000).fill('{}')}]`],
    ['25,000 names', `{${Array.from({ length: 25_000 }, (_, n) => `"${n}":0`)}}`],
  ]
  for (const [name, text] of refused) test(`${name} are rejected`, () => assert.equal(read(text), tooMuch))
  test('errors of a payload have the word "payload", not "body"', () =>
    assert.match(String(read(`[${Array(400_000).fill(1)}]`, { part: 'payload' })), /^payload: holds too many values/))
})

suite('numbers that a double cannot represent', () => {
  const refused: [string, string][] = [
    ['9007199254740993', 'body'],
    ['-9007199254740993', 'body'],
    ['{"a":{"b":[1,2,12345678901234567890]}}', '2'],
    ['{"a\\"\\u0062":100000000000000001}', 'a"b'],
    ['{"":100000000000000001}', 'body'],
    ['[{"x":[[],{}]},{"y":1e309}]', 'y'],
    [`[0.${'0'.repeat(500)}1e810]`, '0'],
    [`{"a":${'9'.repeat(309)}}`, 'a'],
    ['{"a":1,"b":{"c":"9007199254740993,"},"d":9007199254740993}', 'd'],
    ['[-1e+0000400]', '0'],
  ]
  for (const [text, field] of refused)
    test(`the error of the body ${text.slice(0, 60)} names ${field}`, () => {
      assert.match(
        String(read(text)),
        new RegExp(`^${RegExp.escape(field)}: .{1,40} is not a number that can be kept exactly$`),
      )
    })
  for (const text of [
    '9007199254740992',
    '1152921504606846976',
    '[1e308]',
    '[1.7976931348623157e308]',
    '[1e-400]',
    '[0e999]',
  ])
    test(`the number in ${text} is kept`, () => assert.deepEqual(read(text), { value: JSON.parse(text) }))
  test('a number is ignored if a later member of the same name replaces it', () =>
    assert.deepEqual(read('{"a":1e400,"a":1}'), { value: { a: 1 } }))
  test('malformed JSON is reported before an invalid number', () =>
    assert.match(String(read('[1e400,')), /^body: malformed JSON/))
})

suite('a text or name that cannot be stored', () => {
  const cases: [string, string | undefined][] = [
    ['{"a":[{"b":"\\u0000"}]}', 'a.0.b'],
    ['{"a":"\\ud800"}', 'a'],
    ['{"a":"\\ud800\\u0041"}', 'a'],
    ['{"a":"\\ud800\\\\udc00"}', 'a'],
    ['{"a":"\\udc00\\ud800"}', 'a'],
    ['{"a":"\\uD83D\\uDE00"}', undefined],
    ['{"a":"\\\\u0000"}', undefined],
    ['{"a":{"\\u0000":1}}', 'a'],
    ['["\\ud83d😀"]', '0'],
    ['"\\u0000"', 'body'],
    ['{"x":{"\\u005f_proto__":1}}', 'x.__proto__'],
    ['{"x":{"\\u005F\\u005f\\u0070\\u0072\\u006f\\u0074\\u006F\\u005f\\u005f" : 1}}', 'x.__proto__'],
    ['{"x":"\\"__proto__\\":1"}', undefined],
    ['["__proto__"]', undefined],
    ['{"x":{"__proto__":1},"x":1}', undefined],
  ]
  for (const [text, field] of cases)
    test(`the body ${text} ${field === undefined ? 'is accepted' : `is rejected with the field ${field}`}`, () => {
      if (field === undefined) assert.deepEqual(read(text), { value: JSON.parse(text) })
      else assert.match(String(read(text)), new RegExp(`^${RegExp.escape(field)}: (?:expected text|this name)`))
    })
  test('an invalid number is reported before an invalid text', () =>
    assert.equal(read('["\\u0000",1e400]'), '1: 1e400 is not a number that can be kept exactly'))
})

suite('the parser agrees with the slow reference parser on random JSON', () => {
  const plainNumber = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })).map(String)
  const oddNumber = fc.oneof(
    fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
    fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 54n }).map(String),
    fc
      .tuple(fc.integer({ min: 0, max: 99 }), fc.constantFrom('e', 'E', 'e+', 'e-'), fc.nat(420))
      .map((parts) => parts.join('')),
    fc.tuple(fc.nat(9), fc.stringMatching(/^[0-9]{1,330}$/), fc.nat(620)).map(([a, b, c]) => `${a}.${b}e${c}`),
    fc.stringMatching(/^-?[1-9][0-9]{300,320}$/),
  )
  const character = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', '_', 'é', '😀', ':', ',', '{', ']', '1', ' ') },
    fc.constantFrom(
      '\\u0041',
      '\\\\',
      '\\"',
      '\\n',
      '\\u0000',
      '\\ud83d',
      '\\ude00',
      '\\uD800',
      '\\\\u0000',
      '\\u00',
      '\\x',
    ),
  )
  const text = fc.oneof(
    fc.array(character, { maxLength: 6 }).map((parts) => `"${parts.join('')}"`),
    fc.constantFrom('"__proto__"', '"\\u005f_proto__"', '"1"', '"0"', '"a"', '""'),
  )
  const space = fc.constantFrom('', '', '', ' ', '\n\t')
  const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(plainNumber, fc.constantFrom('true', 'false', 'null', '0', '-0', 'x', '01', '-')),
      text,
      oddNumber,
      tie('array'),
      tie('object'),
    ),
    array: fc
      .tuple(space, fc.array(tie('value'), { maxLength: 5 }))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}]`),
    object: fc
      .tuple(space, fc.array(fc.tuple(text, tie('value')), { maxLength: 5 }))
      .map(([gap, rows]) => `{${rows.map(([key, inner]) => `${gap}${key}${gap}:${gap}${inner}`).join(',')}${gap}}`),
  }))

  /** If a text has several wrong numbers, the parsers may name different numbers, because V8 sorts members with numeric names first. */
  const isCut = (result: unknown) =>
    typeof result === 'string' && result.endsWith('is not a number that can be kept exactly')

  for (const reading of [
    {},
    { plainData: true, roundIntegers: true },
    { plainData: 'inside', part: 'payload' },
  ] satisfies Reading[])
    test(`random JSON has the same result in both parsers with the options ${JSON.stringify(reading)}`, () => {
      let wrongNumbers = 0
      fc.assert(
        fc.property(value, (json) => {
          const [expected, found] = [outcome(referenceParseJson, json, reading), read(json, reading)]
          if (isCut(expected) && isCut(found)) wrongNumbers++
          else assert.deepEqual(found, expected)
        }),
        { numRuns: 3000 },
      )
      assert.ok(wrongNumbers > 100)
    })

  test('both parsers name the same wrong number if the other numbers are right', () => {
    const good = fc.oneof(plainNumber, fc.constantFrom('true', '"b"', '[]', '{"c":[{}]}', '[[1],{"d":2}]'))
    fc.assert(
      fc.property(
        fc.array(good, { maxLength: 8 }),
        oddNumber,
        fc.array(good, { maxLength: 8 }),
        (before, odd, after) => {
          for (const json of [
            `[${[...before, odd, ...after]}]`,
            `{${[...before, odd, ...after].map((item, n) => `"k${n}":${item}`)}}`,
            `[{"a":[${[...before, odd]}]},${[...after, 1]}]`,
          ])
            assert.deepEqual(read(json), outcome(referenceParseJson, json))
        },
      ),
      { numRuns: 1000 },
    )
  })
})
