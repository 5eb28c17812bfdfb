import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { defineInstance, forApplicationAndVersion } from './configuration.ts'
import { configurationProblem, readConfiguration } from './configuration-reader.ts'
import { defaulted, Type } from './schema.ts'

const shape = Type.Object({
  on: defaulted(Type.Boolean({ default: true })),
  inner: Type.Optional(
    Type.Object({ name: defaulted(Type.String({ default: 'x', minLength: 1 })), at: Type.Integer() }),
  ),
  list: Type.Optional(
    Type.Array(Type.Object({ path: Type.String({ minLength: 1 }), kind: Type.Optional(Type.Enum(['a', 'b'])) }), {
      minItems: 1,
    }),
  ),
  entries: Type.Optional(
    Type.Unsafe<Record<string, { writable: boolean }>>({
      type: 'object',
      propertyNames: { pattern: '^[a-z]+$' },
      additionalProperties: Type.Object({ writable: defaulted(Type.Boolean({ default: false })) }),
    }),
  ),
  strict: Type.Optional(Type.Object({ days: Type.Optional(Type.Integer()) }, { additionalProperties: false })),
})
const instance = defineInstance({
  name: 'test',
  group: 'Tests',
  description: 'A test',
  schemas: forApplicationAndVersion(shape),
  check: ({ list }) =>
    list?.some(({ path }, index) => list.findIndex((one) => one.path === path) < index)
      ? { path: ['list', `${list.length - 1}`, 'path'], problem: 'occurs twice' }
      : undefined,
})
const read = (stored: object) => readConfiguration(instance, 'application', stored as Record<string, unknown>)
const pathsOf = (stored: object) => read(stored).problems.map(({ path }) => path.join('.'))

suite('a stored configuration', () => {
  test('a stored configuration is read with the defaults of its schema, and keeps other keys', () => {
    assert.deepEqual(read({}), { config: { on: true }, problems: [] })
    const stored = { on: false, inner: { at: 1 }, entries: { a: {}, b: { writable: true } }, other: [1] }
    assert.deepEqual(read(stored).config, {
      on: false,
      inner: { at: 1, name: 'x' },
      entries: { a: { writable: false }, b: { writable: true } },
      other: [1],
    })
    assert.deepEqual(stored.inner, { at: 1 }, 'the stored object must not be changed')
  })

  test('a stored configuration is read without the part that violates the schema: a value, an array item or a map entry', () => {
    for (const [stored, config, path] of [
      [{ on: 'yes' }, { on: true }, 'on'],
      [{ inner: { at: 1, name: '' } }, { on: true, inner: { at: 1, name: 'x' } }, 'inner.name'],
      [{ inner: {} }, { on: true }, 'inner.at'],
      [{ list: [{ path: 'a' }, { path: 'b', kind: 'z' }] }, { on: true, list: [{ path: 'a' }] }, 'list.1.kind'],
      [
        { entries: { a: { writable: 1 }, b: {} } },
        { on: true, entries: { b: { writable: false } } },
        'entries.a.writable',
      ],
      [{ entries: { A: {}, b: {} } }, { on: true, entries: { b: { writable: false } } }, 'entries.A'],
      [{ strict: { days: 1, weeks: 2 } }, { on: true, strict: { days: 1 } }, 'strict.weeks'],
      [{ list: [{ path: 'a' }, { path: 'a' }] }, { on: true, list: [{ path: 'a' }] }, 'list.1.path'],
    ] as const) {
      assert.deepEqual(read(stored).config, config, JSON.stringify(stored))
      assert.ok(pathsOf(stored).includes(path), `the problems must include ${path}: ${pathsOf(stored)}`)
    }
  })

  test('a stored configuration is read without parts that become empty, and without null values, which are not reported', () => {
    assert.deepEqual(read({ list: [{ path: 1 }] }).config, { on: true })
    assert.deepEqual(read({ inner: null, strict: null }), { config: { on: true }, problems: [] })
  })

  test('a stored configuration cannot be changed by its readers', () => {
    const { config } = read({ inner: { at: 1 } })
    assert.throws(() => Object.assign(config.inner as object, { at: 2 }), TypeError)
  })

  test('a violation is described in plain words', () => {
    for (const [config, path, problem] of [
      [{ on: 'yes' }, 'on', 'expected true or false'],
      [{ inner: { at: 1, name: '' } }, 'inner.name', 'must not be empty'],
      [{ inner: {} }, 'inner.at', 'is required'],
      [{ list: [] }, 'list', 'expected at least 1 item'],
      [{ list: [{ path: 'a', kind: 'z' }] }, 'list.0.kind', 'expected one of a, b'],
      [{ entries: { A: {} } }, 'entries.A', 'expected text that matches ^[a-z]+$'],
      [{ strict: { weeks: 2 } }, 'strict.weeks', 'is not known here'],
    ] as const)
      assert.deepEqual(configurationProblem(instance, 'application', config), { path: path.split('.'), problem })
  })

  test('a stored configuration of a level without a schema is read unchanged', () => {
    const stored = { anything: [1] }
    assert.equal(readConfiguration(instance, 'tenant', stored).config, stored)
  })

  test('a stored configuration is always valid after reading, and unchanged if it was valid', () => {
    const value = fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom<unknown>('a', 'b', '', 1, true, null) },
      fc.record(
        { path: fc.constantFrom<unknown>('a', 'b', '', 1), kind: fc.constantFrom<unknown>('a', 'z') },
        { requiredKeys: [] },
      ),
      fc.record(
        { at: fc.constantFrom<unknown>(1, 'x'), name: fc.constantFrom<unknown>('n', '', 2) },
        { requiredKeys: [] },
      ),
      fc.jsonValue({ maxDepth: 3 }),
    )
    const any = fc.record(
      {
        on: value,
        inner: value,
        list: fc.oneof(value, fc.array(value, { maxLength: 4 })),
        entries: fc.oneof(value, fc.dictionary(fc.constantFrom('a', 'B', '__proto__'), value)),
        strict: fc.oneof(value, fc.dictionary(fc.constantFrom('days', 'x'), value)),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(any, (given) => {
        const stored = JSON.parse(JSON.stringify(given)) as Record<string, unknown>
        const { config } = read(stored)
        assert.equal(configurationProblem(instance, 'application', config), undefined)
        if (configurationProblem(instance, 'application', stored) === undefined) {
          assert.equal(read(stored).problems.length, 0)
          for (const key of Object.keys(stored)) assert.ok(Object.hasOwn(config, key), key)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

test('an instance without schemas accepts any object, and its service name defaults to its name in upper case', () => {
  const plain = defineInstance({ name: 'cmx_ota', group: 'Tests', description: 'x' })
  assert.equal(plain.serviceName, 'CMX_OTA')
  assert.equal(configurationProblem(plain, 'version', { a: 1 }), undefined)
})
