import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDocument } from '../../../painless/json.ts'
import { compilePipeline } from './compile.ts'
import type { Mistake } from './types.ts'
import { mistakesBody } from './write.ts'

function mistakes(definition: unknown): Mistake[] {
  const result = compilePipeline(parseDocument(JSON.stringify(definition)))
  return 'mistakes' in result ? result.mistakes : []
}

const mistakeOf = (processor: unknown): string => {
  const found = mistakes({ processors: [processor] })
  assert.equal(found.length, 1, JSON.stringify(processor))
  const { position, type, reason, causedBy } = found[0]!
  return `${position} ${type}: ${reason}${causedBy ? ` (${causedBy.type}: ${causedBy.reason})` : ''}`
}

test('every mistake of a definition is reported with its position', () => {
  const found = mistakes({
    processors: [
      { set: { field: 'a' } },
      { nonsense: {} },
      { script: { source: 'ctx.a = ' } },
      { foreach: { field: 'l', processor: { gsub: { field: 'x', pattern: '(', replacement: '' } } } },
      { drop: { on_failure: [{ rename: { field: 'a' } }] } },
    ],
    on_failure: [{ set: { field: 'a', value: 1, valu: 2 } }],
  })
  assert.deepEqual(
    found.map(({ position, type, property }) => [position, type, property]),
    [
      ['processors.0.set', 'parse_exception', 'value'],
      ['processors.1.nonsense', 'parse_exception', undefined],
      ['processors.2.script', 'script_exception', undefined],
      ['processors.3.foreach.processor.gsub', 'parse_exception', 'pattern'],
      ['processors.4.drop.on_failure.0.rename', 'parse_exception', 'target_field'],
      ['on_failure.0.set', 'parse_exception', undefined],
    ],
  )
})

test('a processor that is not an object with one field is a mistake', () => {
  for (const processor of [{}, { set: { field: 'a', value: 1 }, drop: {} }, [], null, 5])
    assert.equal(
      mistakeOf(processor),
      'processors.0 parse_exception: a processor must be an object with one field, its type',
    )
  const inHandlers = mistakes({ processors: [{ drop: { on_failure: [{}] } }], on_failure: [{}] })
  assert.deepEqual(
    inHandlers.map(({ position }) => position),
    ['processors.0.drop.on_failure.0', 'on_failure.0'],
  )
})

test('wrong options are rejected with the same messages as in the search engine', () => {
  assert.equal(
    mistakeOf({ set: { field: 'a' } }),
    'processors.0.set parse_exception: [value] required property is missing',
  )
  assert.equal(
    mistakeOf({ set: { field: 1, value: 1 } }),
    "processors.0.set parse_exception: [field] property isn't a string, but of type [java.lang.Integer]",
  )
  assert.equal(
    mistakeOf({ nonsense: {} }),
    'processors.0.nonsense parse_exception: No processor type exists with name [nonsense]',
  )
  assert.match(
    mistakeOf({ set: { field: 'a', value: 1, x: 1 } }),
    /doesn't support one or more provided configuration parameters \[x\]/,
  )
  assert.match(
    mistakeOf({ convert: { field: 'a', type: 'date' } }),
    /\[type\] type \[date\] not supported, cannot convert field\./,
  )
  assert.match(mistakeOf({ set: { field: 'a..b', value: 1 } }), /path \[a\.\.b\] is not valid/)
  assert.match(mistakeOf({ set: { field: 'a', value: '{{#x}}' } }), /does not close the section \[x\]/)
  for (const format of ['foo', 'constructor'])
    assert.match(mistakeOf({ date: { field: 'a', formats: [format] } }), /Invalid format/)
  assert.match(mistakeOf({ date: { field: 'a', formats: ['UNIX'], timezone: 'Mars/Base' } }), /Mars\/Base/)
  assert.match(
    mistakeOf({ set: { field: 'a', value: 1, if: 'ctx.a + ' } }),
    /script_exception: compile error \(illegal_argument_exception: unexpected end/,
  )
  assert.match(mistakeOf({ set: { field: 'a', value: 1, if: '1' } }), /class_cast_exception/)
  assert.match(mistakeOf('set'), /a processor must be an object/)
  assert.match(mistakeOf({ set: {}, drop: {} }), /a processor must be an object with one field/)
  assert.match(mistakeOf({ constructor: {} }), /No processor type exists/)
  assert.match(mistakeOf({ __proto__x: {} }), /No processor type exists/)
})

test('stored scripts, and scripts in languages other than Painless, are rejected', () => {
  assert.match(mistakeOf({ script: { id: 'stored' } }), /\[id\] stored scripts are not supported/)
  assert.match(mistakeOf({ script: { source: '1', lang: 'groovy' } }), /script_lang not supported \[groovy\]/)
  assert.match(mistakeOf({ script: {} }), /must specify either \[source\]/)
})

test('the error of a script that does not compile has line, column and an excerpt', () => {
  const [found] = mistakes({ processors: [{ script: { source: 'int a = 1;\nctx.b = a.foo();' } }] })
  assert.deepEqual([found?.script?.line, found?.script?.column], [2, 11])
  assert.match(found!.script!.scriptStack[0]!, /ctx\.b = a\.foo\(\);/)
  const body = mistakesBody([found!])
  assert.equal(body.type, 'script_exception')
  assert.match(String(body.reason), /^processors\.0\.script: compile error: method \[int, foo\/0\] not found$/)
})

test('definitions that are not pipelines or are too large are rejected', () => {
  for (const wrong of [1, [], 'x', {}, { processors: {} }, { processors: 'x' }]) assert.equal(mistakes(wrong).length, 1)
  assert.equal(mistakes({ processors: new Array(1100).fill({ drop: {} }) }).length, 1)
  let nested: unknown = { drop: {} }
  for (let index = 0; index < 30; index++) nested = { foreach: { field: 'a', processor: nested } }
  assert.match(JSON.stringify(mistakes({ processors: [nested] })), /nested too deeply/)
})
