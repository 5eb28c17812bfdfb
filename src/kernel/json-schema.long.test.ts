import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { monotonicMs } from './clock.ts'
import { schemaProblems, validateJson, violationText } from './json-schema.ts'

const problemOf = async (schema: unknown, tenantId = 'a') => {
  const found = await schemaProblems(tenantId, typeof schema === 'string' ? schema : JSON.stringify(schema))
  return found && violationText(found)
}

/** Returns the paths of the violations, `valid`, or the reason why the schema is unusable. */
async function verdictOf(schema: object, value: unknown) {
  const verdict = await validateJson('a', JSON.stringify(schema), JSON.stringify(value))
  if (verdict === 'valid') return verdict
  return 'unusable' in verdict
    ? violationText(verdict.unusable)
    : verdict.violations.violations.map(({ path, message }) => `${path} ${message}`)
}

suite('unusable schemas', () => {
  const refused: [why: string, schema: unknown, problem: RegExp][] = [
    ['that is not JSON', '{', /not JSON/],
    ['that is a boolean', true, /not an object/],
    ['that is a list', [], /not an object/],
    ['that is null', null, /not an object/],
    ['of another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, /draft-04.*not supported/],
    ['of an unknown language', { $schema: 'https://example.org/schema' }, /not supported/],
    ['whose $schema is not a text', { $schema: 7 }, /must be a text/],
    ['that violates its draft', { type: 'nothing' }, /^\/type: must be equal to one of the allowed values/],
    ['with a remote reference', { $ref: 'https://example.org/other.json' }, /can't resolve reference/],
    ['with a reference to a part that is missing', { $ref: '#/definitions/a' }, /can't resolve reference/],
    ['with a reference to a file', { $ref: 'file:///etc/passwd' }, /can't resolve reference/],
    ['that is asynchronous', { $async: true }, /\$async/],
    ['with a pattern that is malformed', { pattern: '(' }, /cannot be run in linear time|pattern/],
    ['with lookahead', { pattern: '^(?=a)a' }, /cannot be run in linear time/],
    ['with a backreference', { patternProperties: { '(a)\\1': {} } }, /cannot be run in linear time/],
    ['with lookbehind in a part that is not used', { definitions: { a: { pattern: '(?<=a)b' } } }, /linear time/],
    ['with a remote reference in a part that is not used', { $defs: { a: { $ref: 'http://a.test/b' } } }, /resolve/],
    ['that is nested too deeply', `${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}`, /nested too deeply/],
  ]
  for (const [why, schema, problem] of refused)
    test(`a schema ${why} is rejected`, async () => assert.match((await problemOf(schema)) ?? 'accepted', problem))

  test('a schema that refers to a schema of another tenant is rejected', async () => {
    const $id = 'https://example.org/secret.json'
    assert.equal(await problemOf({ $id, const: 'secret' }, 'one'), undefined)
    assert.match((await problemOf({ $ref: $id }, 'two'))!, /can't resolve reference/)
  })
})

suite('a value is validated', () => {
  const cases: [schema: object, good: unknown[], bad: unknown[]][] = [
    [{ type: 'object', required: ['a'] }, [{ a: 1 }], [{}, 1, null]],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }, [['a', 1]], [[1]]],
    [{ $schema: 'https://json-schema.org/draft/2019-09/schema', dependentRequired: { a: ['b'] } }, [{}], [{ a: 1 }]],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'null' }] }, [[null]], [[1]]],
    [{ definitions: { n: { type: 'number' } }, $ref: '#/definitions/n' }, [1], ['1']],
    [
      { $id: 'https://example.org/a.json', $ref: 'https://example.org/a.json#/$defs/b', $defs: { b: { const: 1 } } },
      [1],
      [2],
    ],
    [{ pattern: '^\\d{3}-\\u0041$' }, ['123-A', 7], ['12-A', '123-B']],
    [{ patternProperties: { '^x-': { type: 'number' } } }, [{ 'x-a': 1, y: 'z' }], [{ 'x-a': 'b' }]],
    [{ properties: { constructor: { type: 'number' } }, required: ['toString'] }, [{ toString: 1 }], [{}]],
    [{ multipleOf: 0.01 }, [19.99, -0.07, 1e22, 0], [19.995, 1e-3]],
    [{ multipleOf: 0.1 }, [0.3, 1.1, 4.35e3], [0.35, 1e-300]],
    [{ multipleOf: 3 }, [9, 3e30], [10, 1e30, 4.5]],
    [{ format: 'date-time' }, ['2026-01-02T03:04:05Z', 5], ['yesterday']],
    [{ format: 'idn-email' }, ['jörg@münchen.example'], ['jörg', '@münchen.example']],
    [{ format: 'idn-hostname' }, ['münchen.example'], ['-', 'a b']],
    [{ format: 'iri' }, ['https://münchen.example/ö'], ['nothing', 'https://a b']],
    [{ format: 'iri-reference' }, ['/ö'], ['a b']],
    [{ format: 'regex' }, ['^a$'], ['(']],
    [{ format: 'no-such-format' }, ['anything'], []],
  ]
  for (const [schema, good, bad] of cases)
    test(`valid values are accepted and invalid values rejected by the schema ${JSON.stringify(schema).slice(0, 70)}`, async () => {
      for (const value of good) assert.equal(await verdictOf(schema, value), 'valid', JSON.stringify(value))
      for (const value of bad) assert.ok(Array.isArray(await verdictOf(schema, value)), JSON.stringify(value))
    })

  test('each violation names the JSON pointer of the value, and the wrong or missing property', async () => {
    const schema = {
      properties: { 'a/b': { items: { type: 'number' } } },
      additionalProperties: false,
      required: ['c'],
    }
    assert.deepEqual(await verdictOf(schema, { 'a/b': [1, 'x'], d: 1 }), [
      " must have required property 'c'",
      " must NOT have additional properties: 'd'",
      '/a~1b/1 must be number',
    ])
    assert.deepEqual(await verdictOf({ enum: ['on', 'off'] }, 1), [
      ' must be equal to one of the allowed values: ["on","off"]',
    ])
  })

  test('at most 100 violations are listed, and further violations are counted', async () => {
    const verdict = await validateJson('a', '{"items":{"type":"number"}}', JSON.stringify(Array(130).fill('x')))
    assert.ok(typeof verdict === 'object' && 'violations' in verdict)
    assert.equal(verdict.violations.violations.length, 100)
    assert.equal(verdict.violations.more, 30)
    assert.equal(violationText(verdict.violations), '/0: must be number (and 129 more)')
  })
})

suite('a hostile schema delays only its own request', () => {
  const violated = { type: 'string' }
  /**
   * Returns a schema of 40 levels. Each level validates the value twice, so the schema needs 2^40 validations. `last` is the schema of the
   * last level.
   */
  const exponential = (last: object = { type: 'number' }) => {
    const definitions: Record<string, object> = { d40: last }
    for (let level = 0; level < 40; level++) {
      const next = { $ref: `#/definitions/d${level + 1}` }
      definitions[`d${level}`] = last === violated ? { anyOf: [next, next] } : { allOf: [next, next] }
    }
    return { definitions, $ref: '#/definitions/d0' }
  }

  test('a schema that takes too long is reported as unusable, and delays neither the event loop nor other tenants', async () => {
    let longestMs = 0
    let last = monotonicMs()
    const ticking = setInterval(() => {
      longestMs = Math.max(longestMs, monotonicMs() - last)
      last = monotonicMs()
    }, 10)
    const slow = validateJson('hostile', JSON.stringify(exponential()), '1')
    const began = monotonicMs()
    assert.equal(await validateJson('other', '{"type":"number"}', '1'), 'valid')
    const waitedMs = monotonicMs() - began
    const verdict = await slow
    const tookMs = monotonicMs() - began
    clearInterval(ticking)
    assert.ok(typeof verdict === 'object' && 'unusable' in verdict)
    assert.match(violationText(verdict.unusable), /takes more than 2 s/)
    assert.ok(waitedMs < tookMs, `another tenant waited ${waitedMs} ms of ${tookMs} ms`)
    assert.ok(longestMs < 5000, `the event loop was blocked for ${longestMs} ms`)
    assert.equal(await validateJson('hostile', '{"type":"number"}', '1'), 'valid')
  })

  test('other requests in the batch of a slow schema each get their own result', async () => {
    const slow = JSON.stringify(exponential())
    const verdicts = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n === 20 ? validateJson('many', slow, '1') : validateJson('many', '{"type":"number"}', n % 2 ? '1' : '"x"'),
      ),
    )
    for (const [n, verdict] of verdicts.entries())
      if (n === 20) assert.ok(typeof verdict === 'object' && 'unusable' in verdict)
      else if (n % 2) assert.equal(verdict, 'valid')
      else assert.ok(typeof verdict === 'object' && 'violations' in verdict)
  })

  test('requests of a tenant above a hundred waiting requests get 429, and requests of other tenants do not', async () => {
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 120 }, () => validateJson('flood', '{"type":"number"}', '1')),
      validateJson('calm', '{"type":"number"}', '1'),
    ])
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.status] : []))
    assert.deepEqual(refused, Array(19).fill(429))
    assert.equal(outcomes.at(-1)?.status, 'fulfilled')
  })

  test('a pattern that backtracks in other engines takes linear time', async () => {
    assert.equal(await problemOf({ pattern: '^(a+)+$' }), undefined)
    assert.deepEqual(await verdictOf({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`), [
      ' must match pattern "^(a+)+$"',
    ])
  })

  test('a value with too many violations is rejected before the violations take much memory, and the next request succeeds', async () => {
    const many = { items: { not: {}, type: 'string', minLength: 9, pattern: 'x', enum: [1], const: 2 } }
    for (const [schema, data] of [
      [many, `[${'1,'.repeat(490_000)}1]`],
      [exponential(violated), '1'],
    ] as const) {
      const verdict = await validateJson('a', JSON.stringify(schema), data)
      assert.ok(typeof verdict === 'object' && 'unusable' in verdict)
      assert.match(violationText(verdict.unusable), /finds more than 200000 violations/)
      assert.equal(await validateJson('a', '{"type":"number"}', '1'), 'valid')
    }
    // Violations of an alternative are counted even if another alternative is valid. An ordinary document still stays below the limit.
    const either = { items: { anyOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'number' }] } }
    assert.equal(await validateJson('a', JSON.stringify(either), `[${'1,'.repeat(90_000)}1]`), 'valid')
  })
})
