import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { rejectsWith } from '../../../test/harness/device-messages.ts'
import { select } from './attribute-path.ts'

/** The example document of GJSON's documentation, with edge cases. */
const data = {
  name: { first: 'Tom', last: 'Anderson' },
  age: 37,
  children: ['Sara', 'Alex', 'Jack'],
  'fav.movie': 'Deer Hunter',
  friends: [
    { first: 'Dale', last: 'Murphy', age: 44, nets: ['ig', 'fb', 'tw'] },
    { first: 'Roger', last: 'Craig', age: 68, nets: ['fb', 'tw'] },
    { first: 'Jane', last: 'Murphy', nets: [] },
  ],
  nothing: null,
  no: false,
  empty: [],
  '#': { a: 'hash' },
  '7': 'seven',
  'a*b': 'star',
  'a-b': 'dash',
  '': { '': 'no name' },
  '😀': 'smile',
}

const cases: [path: string, value: unknown][] = [
  ['name.last', 'Anderson'],
  ['name', data.name],
  ['age', 37],
  ['children', data.children],
  ['children.0', 'Sara'],
  ['children.2', 'Jack'],
  ['children.3', undefined],
  ['children.-1', undefined],
  ['children.01', 'Alex'],
  ['children.1x', undefined],
  ['children.1*', undefined],
  ['children.length', undefined],
  ['children.99999999999999999999', undefined],
  ['friends.1.first', 'Roger'],
  ['child*.2', 'Jack'],
  ['c?ildren.0', 'Sara'],
  ['*.first', 'Tom'],
  ['na*e.l?st', 'Anderson'],
  ['*x*', undefined],
  ['?', 'seven'],
  ['fav\\.movie', 'Deer Hunter'],
  ['fav.movie', undefined],
  ['fav?movie', 'Deer Hunter'],
  ['a\\*b', 'star'],
  ['a\\?b', undefined],
  ['a?b', 'star'],
  ['a-b', 'dash'],
  ['friends.#', 3],
  ['empty.#', 0],
  ['friends.#.age', [44, 68]],
  ['friends.#.nets.#', [3, 2, 0]],
  ['friends.#.nets.0', ['ig', 'fb']],
  ['friends.#.missing', []],
  ['friends.#.l*', ['Murphy', 'Craig', 'Murphy']],
  ['empty.#.a', []],
  ['age.#', undefined],
  ['name.#', undefined],
  ['#.a', 'hash'],
  ['\\#.a', 'hash'],
  ['children.\\#', undefined],
  ['7', 'seven'],
  ['nothing', null],
  ['nothing.a', undefined],
  ['no', false],
  ['age.a', undefined],
  ['name.first.length', undefined],
  ['', { '': 'no name' }],
  ['.', 'no name'],
  ['name.', undefined],
  ['😀', 'smile'],
  ['__proto__', undefined],
  ['constructor', undefined],
  ['name.toString', undefined],
  ['@this', data],
  ['\\@this', undefined],
  ['trailing\\', undefined],
]

suite('a path', () => {
  for (const [path, value] of cases)
    test(`the path ${path} has the value ${JSON.stringify(value)}`, () => assert.deepEqual(select(data, path), value))

  for (const path of [
    'friends.#(last=="Murphy").first',
    'friends.#[a=1]',
    'children.@reverse',
    '@this.a',
    'a|b',
    '{a,b}',
    '[a,b]',
    '!"x"',
    'name.{first,last}',
  ])
    test(`the path ${path} is rejected as unsupported syntax`, async () => {
      const error = await rejectsWith((async () => select(data, path))(), 400)
      assert.match(error.message, /^q: .* is not supported here/)
    })

  test('a path treats an own __proto__ as a key', () =>
    assert.equal(select(JSON.parse('{"__proto__": {"a": 1}}'), '__proto__.a'), 1))

  test('if the rest of a path does not exist below the first matching key, the path continues with the next matching key', () => {
    assert.equal(select({ a1: { x: 1 }, a2: { y: { z: 2 } }, a3: { y: { z: 3 } } }, 'a*.y.z'), 2)
  })
})

const escaped = (key: string) => [...key].map((character) => `\\${character}`).join('')
const json = fc.jsonValue({ maxDepth: 4 })
const isObject = (value: unknown) => typeof value === 'object' && value !== null

suite('any document', () => {
  test('every value of a document is found at the path of its escaped keys', () => {
    fc.assert(
      fc.property(json, fc.array(fc.nat()), (document, choices) => {
        let value: unknown = document
        const keys: string[] = []
        for (const choice of choices) {
          if (!isObject(value)) break
          const names = Object.keys(value as object)
          if (names.length === 0) break
          const key = names[choice % names.length]!
          keys.push(Array.isArray(value) ? key : escaped(key))
          value = (value as Record<string, unknown>)[key]
        }
        if (keys.length === 0) return
        assert.deepEqual(select(document, keys.join('.')), value)
      }),
    )
  })

  test('# returns the number of elements, and # with a key returns the values of this key in all elements', () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.constantFrom('a', 'b'), json)), (array) => {
        assert.equal(select({ array }, 'array.#'), array.length)
        const ofA = array.filter((element) => Object.hasOwn(element, 'a')).map(({ a }) => a)
        assert.deepEqual(select({ array }, 'array.#.a'), ofA)
      }),
    )
  })

  test('any text is evaluated as a path or rejected with 400', () => {
    const path = fc.string({ unit: fc.constantFrom('a', '.', '*', '?', '#', '\\', '|', '@', '(', '1', '0', 'é') })
    fc.assert(
      fc.property(json, path, (document, text) => {
        try {
          select(document, text)
        } catch (error) {
          assert.equal((error as { status?: number }).status, 400)
        }
      }),
      { numRuns: 500 },
    )
  })
})

suite('wildcards', () => {
  const expression = (pattern: string) =>
    new RegExp(`^${[...pattern].map((unit) => (unit === '*' ? '.*' : unit === '?' ? '.' : unit)).join('')}$`, 'su')

  test('wildcards match like the equivalent regular expression', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 8 })
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 10 })
    fc.assert(
      fc.property(pattern, key, (path, name) => {
        assert.equal(select({ [name]: 1 }, path), expression(path).test(name) ? 1 : undefined)
      }),
      { numRuns: 2000 },
    )
  })

  test('wildcards are rejected if they take too many comparisons', async () => {
    const document = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`${'a'.repeat(100_000)}${n}`, n]))
    const started = process.cpuUsage().user
    assert.equal(select(document, `${'*a'.repeat(500)}b`), undefined)
    const error = await rejectsWith((async () => select(document, `*${'a'.repeat(500)}b`))(), 400)
    assert.match(error.message, /takes too long/)
    assert.ok(process.cpuUsage().user - started < 2_000_000)
  })

  test('wildcards match long keys', () => assert.equal(select({ [`${'a'.repeat(100_000)}b`]: 1 }, '*aab'), 1))
})
