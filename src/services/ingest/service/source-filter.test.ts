import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createSourceFilter } from './source-filter.ts'

const filtered = (document: unknown, includes: string[], excludes: string[] = []) =>
  createSourceFilter({ includes, excludes })(document)
const document = { a: { bc: 1, cb: 2, 'b.c': 3 }, abcba: 4, list: [{ x: 1, y: 2 }, { y: 3 }] }

suite('patterns', () => {
  for (const [patterns, shown] of [
    [['a.bc'], { a: { bc: 1 } }],
    [['a'], { a: document.a }],
    [['a.*b*'], { a: document.a }],
    [['a.*c'], { a: { bc: 1, 'b.c': 3 } }],
    [['ab*ba'], { abcba: 4 }],
    [['abc*cba'], {}],
    [['**cb**'], { a: { cb: 2 }, abcba: 4 }],
    [['list.x'], { list: [{ x: 1 }] }],
    [['.*'], {}],
  ] as [string[], object][])
    test(`with the patterns ${patterns}, the fields that match are returned`, () =>
      assert.deepEqual(filtered(document, patterns), shown))

  test('excluded fields are not returned', () =>
    assert.deepEqual(filtered(document, [], ['a.*', 'list*']), { a: {}, abcba: 4 }))
})

suite('hostile patterns', () => {
  const began = () => process.cpuUsage()
  const cpuSeconds = (since: NodeJS.CpuUsage) => process.cpuUsage(since).user / 1e6

  test('a pattern with many asterisks takes little time', () => {
    const since = began()
    assert.deepEqual(filtered({ [`${'a'.repeat(2000)}c`]: 1 }, [`${'*a'.repeat(200)}*b`]), {})
    assert.ok(cpuSeconds(since) < 5)
  })

  test('many patterns for a document with many long paths are rejected instead of blocking the thread', () => {
    const leaves = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`a${n}`, n]))
    const patterns = Array.from({ length: 100 }, (_, n) => `${'*a'.repeat(200)}*${n}b`)
    assert.throws(() => filtered({ ['a'.repeat(1500)]: leaves }, patterns), /_source: too many patterns/)
  })

  test('fields with extremely long paths are returned if their object is returned', () => {
    const inner = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n]))
    const long = { ['x'.repeat(300_000)]: inner }
    const since = began()
    assert.deepEqual(filtered({ long, other: 1 }, ['lo*', 'y*']), { long })
    assert.ok(cpuSeconds(since) < 5)
  })
})
