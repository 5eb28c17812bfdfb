import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { applyPatch } from 'rfc6902'
import { PlatformError } from './errors.ts'
import { applyJsonPatch } from './json-patch.ts'

const statusOf = (document: unknown, operations: unknown[]): number | undefined => {
  try {
    applyJsonPatch(document, operations)
    return undefined
  } catch (error) {
    assert.ok(error instanceof PlatformError, String(error))
    return error.status
  }
}

suite('JSON Patch', () => {
  test('JSON Patch rejects a path that continues below a text, a number or null', () => {
    for (const value of ['Kyiv', 1, null, true])
      for (const path of ['/a/b', '/a/0', '/a/-', '/a/length', '/a/b/c']) {
        for (const op of ['add', 'replace', 'remove'])
          assert.equal(statusOf({ a: value }, [{ op, path, value: 1 }]), 400, `${op} ${path}`)
        assert.equal(statusOf({ a: value }, [{ op: 'test', path, value: null }]), 409, path)
        assert.equal(statusOf({ a: value }, [{ op: 'copy', from: path, path: '/c' }]), 400, path)
      }
  })

  test('the operation `test` of a missing value fails, even in arrays', () => {
    for (const path of ['/b', '/b/c/d', '/list/2', '/list/-', '/list/01', '/list/length', '/toString'])
      for (const value of [null, 2, 'x']) assert.equal(statusOf({ list: [1, 2] }, [{ op: 'test', path, value }]), 409)
  })

  test('inherited property names do not count as data', () => {
    for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      const path = `/${name}`
      assert.equal(statusOf({}, [{ op: 'remove', path }]), 400, name)
      assert.equal(statusOf({}, [{ op: 'replace', path, value: 1 }]), 400, name)
      assert.equal(statusOf({}, [{ op: 'copy', from: path, path: '/a' }]), 400, name)
      assert.equal(statusOf({}, [{ op: 'add', path: `${path}/a`, value: 1 }]), 400, name)
    }
    assert.equal(({} as { a?: unknown }).a, undefined)
  })

  test('inherited property names can be used as keys', () => {
    const operations = JSON.parse(`[
      { "op": "add", "path": "/__proto__", "value": { "__proto__": { "deep": 1 } } },
      { "op": "copy", "from": "/__proto__", "path": "/copy" },
      { "op": "test", "path": "/copy/__proto__/deep", "value": 1 },
      { "op": "replace", "path": "/__proto__/__proto__", "value": 2 },
      { "op": "add", "path": "/constructor", "value": 3 },
      { "op": "move", "from": "/constructor", "path": "/toString" }]`)
    assert.equal(
      JSON.stringify(applyJsonPatch({}, operations)),
      '{"__proto__":{"__proto__":2},"copy":{"__proto__":{"deep":1}},"toString":3}',
    )
    assert.equal(statusOf(JSON.parse('{"a":{"__proto__":1}}'), [{ op: 'test', path: '/a', value: {} }]), 409)
  })

  test('a value cannot be moved into itself; a move to the same path changes nothing', () => {
    assert.equal(statusOf({ a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }]), 400)
    assert.equal(statusOf({ a: 1 }, [{ op: 'move', from: '', path: '/a' }]), 400)
    const intoItself = () => applyJsonPatch({ a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }])
    assert.throws(intoItself, /\/a cannot be moved into itself/)
    assert.deepEqual(applyJsonPatch({ a: 1, ab: 2 }, [{ op: 'move', from: '/a', path: '/a' }]), { a: 1, ab: 2 })
    assert.deepEqual(applyJsonPatch({ a: 1, ab: {} }, [{ op: 'move', from: '/a', path: '/ab/a' }]), { ab: { a: 1 } })
  })

  test('JSON Patch limits the total size of copies, even if they overwrite each other', () => {
    const copies = Array.from({ length: 1000 }, () => ({ op: 'copy', from: '/a', path: '/b' }))
    assert.equal(statusOf({ a: 'x'.repeat(60_000) }, copies), 400)
    const nesting = Array.from({ length: 1000 }, () => ({ op: 'copy', from: '', path: '/a' }))
    assert.equal(statusOf({}, nesting), 400)
  })

  test('JSON Patch does not change the given document', () => {
    const document = { a: { b: [1, 2] } }
    applyJsonPatch(document, [
      { op: 'remove', path: '/a/b/0' },
      { op: 'add', path: '/a/c', value: 1 },
    ])
    assert.deepEqual(document, { a: { b: [1, 2] } })
  })

  test('JSON Patch passes the examples of RFC 6902, appendix A', () => {
    const cases: [given: unknown, operations: unknown[], result: unknown][] = [
      [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { foo: 'bar', baz: 'qux' }],
      [{ foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
      [{ baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
      [{ foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
      [{ baz: 'qux' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo' }],
      [
        { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
        [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
        { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
      ],
      [
        { foo: ['all', 'grass', 'cows', 'eat'] },
        [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
        { foo: ['all', 'cows', 'eat', 'grass'] },
      ],
      [{ foo: ['a', 2] }, [{ op: 'test', path: '/foo/1', value: 2 }], { foo: ['a', 2] }],
      [{ foo: 'bar' }, [{ op: 'add', path: '/child', value: { grand: {} } }], { foo: 'bar', child: { grand: {} } }],
      [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
      [{ '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
      [{ foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }], { foo: ['bar', ['abc', 'def']] }],
    ]
    for (const [given, operations, result] of cases) assert.deepEqual(applyJsonPatch(given, operations), result)
    assert.equal(statusOf({ baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }]), 409)
    assert.equal(statusOf({ foo: 'bar' }, [{ op: 'add', path: '/baz/bat', value: 'qux' }]), 400)
    assert.equal(statusOf({ '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: '10' }]), 409)
  })

  test('JSON Patch can be applied twice, because it changes neither the document nor the patch', () => {
    const operations = [
      { op: 'add', path: '/list', value: [1] },
      { op: 'add', path: '/list/-', value: 2 },
    ]
    for (let time = 0; time < 2; time++) assert.deepEqual(applyJsonPatch({}, operations), { list: [1, 2] })
  })
})

test('patches have the same results as a well-known library, except where the library violates RFC 6902', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(name, fc.constantFrom('0', '1', '2', '-'))
  const pointer = fc.array(step, { minLength: 1, maxLength: 3 }).map((steps) => `/${steps.join('/')}`)
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom('x', null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value }),
    fc.record({ op: fc.constant('remove'), path: pointer }),
    fc.record({ op: fc.constantFrom('move', 'copy'), from: pointer, path: pointer }),
  )
  let followed = 0
  const property = fc.property(
    fc.dictionary(name, value, { noNullPrototype: true }),
    fc.array(operation, { maxLength: 4 }),
    (document, operations) => {
      let ours: unknown
      try {
        ours = applyJsonPatch(document, operations)
      } catch {
        // Such patches are not compared: the library lets a patch write past the end of an array, and throws if a path leads through a
        // text.
        return
      }
      const theirs = structuredClone(document)
      // The operations are applied one by one, because the library continues after a failed operation.
      const failed = operations.some((one) =>
        applyPatch(theirs, structuredClone([one]) as never).some((e) => e !== null),
      )
      followed++
      assert.equal(failed, false, JSON.stringify(operations))
      assert.deepEqual(ours, theirs)
    },
  )
  fc.assert(property, { numRuns: 1000, seed: 11 })
  assert.ok(followed > 200, `only ${followed} random patches could be applied`)
})
