import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DocumentMap, parseDocument } from '../../../painless/json.ts'
import { compilePipeline } from './compile.ts'
import { failureSummary } from './failure.ts'
import type { CompileResult, Pipeline } from './types.ts'
import { writeOutcome } from './write.ts'

const timestamp = '2026-02-03T04:05:06.789Z'

export function build(definition: unknown, lookup?: (name: string) => CompileResult | undefined): Pipeline {
  const result = compilePipeline(parseDocument(JSON.stringify(definition)), lookup)
  assert.ok('pipeline' in result, JSON.stringify(result))
  return result.pipeline
}

/** Runs processors and returns the document as JSON text, `dropped`, or the failure. */
function run(processors: unknown[], document: string, lookup?: (name: string) => CompileResult | undefined): string {
  const outcome = build({ processors }, lookup).run({
    index: 'idx',
    id: 'id-1',
    source: parseDocument(document) as DocumentMap,
    timestamp,
  })
  const written = writeOutcome(outcome)
  if ('failure' in written) {
    const { processor, type, reason } = failureSummary(written.failure)
    return `${processor} ${type}: ${reason}`
  }
  return written.document === null ? 'dropped' : written.text
}

type Case = [processors: unknown[], document: string, result: string]

function check(title: string, cases: Case[]): void {
  test(title, () => {
    for (const [processors, document, result] of cases)
      assert.equal(run(processors, document), result, JSON.stringify(processors))
  })
}

check('the processor set sets a field to a value, a filled template or the value of another field', [
  [[{ set: { field: 'a.b', value: 9007199254740991 } }], '{}', '{"a":{"b":9007199254740991}}'],
  [
    [{ set: { field: '{{name}}', value: 'is {{{name}}} at {{_ingest.timestamp}}' } }],
    '{"name":"x"}',
    `{"name":"x","x":"is x at ${timestamp}"}`,
  ],
  [
    [{ set: { field: 'q', value: '{{t}}|{{{t}}}|{{_index}}|{{_source.t}}|{{no}}' } }],
    '{"t":"a\\"b"}',
    '{"t":"a\\"b","q":"a\\\\\\"b|a\\"b|idx|a\\\\\\"b|"}',
  ],
  [[{ set: { field: 'q', value: '{{t}}', media_type: 'text/plain' } }], '{"t":"a\\"b"}', '{"t":"a\\"b","q":"a\\"b"}'],
  [[{ set: { field: 'a', value: 2, override: false } }], '{"a":1}', '{"a":1}'],
  [[{ set: { field: 'a', value: 2, override: false } }], '{"a":null}', '{"a":2}'],
  [[{ set: { field: 'a', value: '{{no}}', ignore_empty_value: true } }], '{"a":1}', '{"a":1}'],
  [
    [{ set: { field: 'b', copy_from: 'a' } }, { set: { field: 'b.x', value: 2 } }],
    '{"a":{"x":1}}',
    '{"a":{"x":1},"b":{"x":2}}',
  ],
  [[{ set: { field: 'l.1', value: 'x' } }], '{"l":[1,2]}', '{"l":[1,"x"]}'],
  [[{ set: { field: 'list', value: ['{{a}}', { k: '{{a}}' }] } }], '{"a":"v"}', '{"a":"v","list":["v",{"k":"v"}]}'],
  [[{ set: { if: 'ctx.a > 1', field: 'b', value: true } }], '{"a":2}', '{"a":2,"b":true}'],
  [[{ set: { if: 'ctx.a > 1', field: 'b', value: true } }], '{"a":1}', '{"a":1}'],
  [
    [{ set: { if: { source: 'ctx.a > params.min', params: { min: 0 } }, field: 'b', value: true } }],
    '{"a":1}',
    '{"a":1,"b":true}',
  ],
  [
    [{ set: { field: 'a.b', value: 1 } }],
    '{"a":"text"}',
    'processors.0.set illegal_argument_exception: cannot set [b] with parent object of type [java.lang.String] as part of path [a.b]',
  ],
  [
    [{ set: { field: 'l.5', value: 1 } }],
    '{"l":[1]}',
    'processors.0.set illegal_argument_exception: [5] is out of bounds for array with length [1] as part of path [l.5]',
  ],
  [
    [{ set: { field: 'l', value: '{{#l}}<{{.}}>{{/l}}{{^no}}none{{/no}}{{! a comment }}' } }],
    '{"l":[1,2]}',
    '{"l":"<1><2>none"}',
  ],
])

check('the processors remove, rename and append change fields', [
  [[{ remove: { field: ['a', 'b.c'] } }], '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3}}'],
  [
    [{ remove: { field: 'x' } }],
    '{}',
    'processors.0.remove illegal_argument_exception: field [x] not present as part of path [x]',
  ],
  [[{ remove: { field: 'x', ignore_missing: true } }], '{"a":1}', '{"a":1}'],
  [[{ remove: { keep: 'a' } }], '{"a":1,"b":2}', '{"a":1}'],
  [[{ rename: { field: 'a.b', target_field: 'c.d' } }], '{"a":{"b":1}}', '{"a":{},"c":{"d":1}}'],
  [
    [{ rename: { field: 'x', target_field: 'y' } }],
    '{}',
    "processors.0.rename illegal_argument_exception: field [x] doesn't exist",
  ],
  [
    [{ rename: { field: 'x', target_field: 'y' } }],
    '{"x":1,"y":2}',
    'processors.0.rename illegal_argument_exception: field [y] already exists',
  ],
  [[{ rename: { field: 'x', target_field: 'y', ignore_missing: true } }], '{}', '{}'],
  [[{ append: { field: 'a', value: ['x', '{{n}}'] } }], '{"n":"v"}', '{"n":"v","a":["x","v"]}'],
  [[{ append: { field: 'a', value: 2 } }], '{"a":1}', '{"a":[1,2]}'],
  [[{ append: { field: 'a', value: [1, 3], allow_duplicates: false } }], '{"a":[1,2]}', '{"a":[1,2,3]}'],
])

check('processors for texts change case, split and replace', [
  [
    [{ lowercase: { field: 'a' } }, { uppercase: { field: 'b', target_field: 'c' } }],
    '{"a":"AbC","b":["x","y"]}',
    '{"a":"abc","b":["x","y"],"c":["X","Y"]}',
  ],
  [[{ trim: { field: 'a' } }], '{"a":"  x "}', '{"a":"x"}'],
  [
    [{ gsub: { field: 'a', pattern: '(\\d+)-(\\d+)', replacement: '$2-$1' } }],
    '{"a":"1-2 33-44"}',
    '{"a":"2-1 44-33"}',
  ],
  [[{ split: { field: 'a', separator: ',\\s*' } }], '{"a":"1, 2,3,,"}', '{"a":["1","2","3"]}'],
  [[{ split: { field: 'a', separator: ',', preserve_trailing: true } }], '{"a":"1,,"}', '{"a":["1","",""]}'],
  [
    [{ lowercase: { field: 'x' } }],
    '{}',
    'processors.0.lowercase illegal_argument_exception: field [x] not present as part of path [x]',
  ],
  [
    [{ lowercase: { field: 'x' } }],
    '{"x":1}',
    'processors.0.lowercase illegal_argument_exception: field [x] of type [java.lang.Integer] cannot be cast to [java.lang.String]',
  ],
  [
    [{ lowercase: { field: 'x' } }],
    '{"x":null}',
    'processors.0.lowercase illegal_argument_exception: field [x] is null, cannot process it.',
  ],
  [[{ lowercase: { field: 'x', ignore_missing: true } }], '{}', '{}'],
])

check('the processors convert and json change the type of values', [
  [[{ convert: { field: 'a', type: 'integer' } }], '{"a":"12"}', '{"a":12}'],
  [[{ convert: { field: 'a', type: 'long' } }], '{"a":"9007199254740993"}', '{"a":9007199254740993}'],
  [[{ convert: { field: 'a', type: 'integer' } }], '{"a":"0x1F"}', '{"a":31}'],
  [
    [{ convert: { field: 'a', type: 'double', target_field: 'b' } }],
    '{"a":["1","2.5"]}',
    '{"a":["1","2.5"],"b":[1.0,2.5]}',
  ],
  [[{ convert: { field: 'a', type: 'boolean' } }], '{"a":"TRUE"}', '{"a":true}'],
  [[{ convert: { field: 'a', type: 'string' } }], '{"a":1.0}', '{"a":"1.0"}'],
  [[{ convert: { field: 'a', type: 'auto' } }], '{"a":["1","2.5","true","x"]}', '{"a":[1,2.5,true,"x"]}'],
  [
    [{ convert: { field: 'a', type: 'integer' } }],
    '{"a":"x1"}',
    'processors.0.convert illegal_argument_exception: unable to convert [x1] to integer: For input string: "x1"',
  ],
  [
    [{ convert: { field: 'a', type: 'ip' } }],
    '{"a":"300.1.1.1"}',
    "processors.0.convert illegal_argument_exception: '300.1.1.1' is not an IP string literal.",
  ],
  [
    [{ json: { field: 'a', target_field: 'b' } }],
    '{"a":"{\\"n\\":9007199254740993}"}',
    '{"a":"{\\"n\\":9007199254740993}","b":{"n":9007199254740993}}',
  ],
  [[{ json: { field: 'a', add_to_root: true } }], '{"a":"{\\"n\\":1}"}', '{"a":"{\\"n\\":1}","n":1}'],
])

check('the processor date reads many formats', [
  [
    [{ date: { field: 'd', formats: ['ISO8601'] } }],
    '{"d":"2020-01-02T03:04:05+02:00"}',
    '{"d":"2020-01-02T03:04:05+02:00","@timestamp":"2020-01-02T01:04:05.000Z"}',
  ],
  [
    [{ date: { field: 'd', formats: ['UNIX'], target_field: 't' } }],
    '{"d":1577934245}',
    '{"d":1577934245,"t":"2020-01-02T03:04:05.000Z"}',
  ],
  [
    [
      {
        date: { field: 'd', formats: ['dd/MM/yyyy HH:mm:ss', 'UNIX_MS'], timezone: 'Europe/Berlin', target_field: 't' },
      },
    ],
    '{"d":"02/07/2020 03:04:05"}',
    '{"d":"02/07/2020 03:04:05","t":"2020-07-02T03:04:05.000+02:00"}',
  ],
  [
    [{ date: { field: 'd', formats: ['yyyy-MM-dd'], output_format: 'yyyy/DDD', target_field: 'd' } }],
    '{"d":"2020-02-01"}',
    '{"d":"2020/032"}',
  ],
  [
    [{ date: { field: 'd', formats: ['MMM d'], target_field: 'd' } }],
    '{"d":"Mar 5"}',
    '{"d":"2026-03-05T00:00:00.000Z"}',
  ],
  [
    [{ date: { field: 'd', formats: ['yyyy-MM-dd'] } }],
    '{"d":"2020-02-30"}',
    'processors.0.date illegal_argument_exception: unable to parse date [2020-02-30]',
  ],
])

check('the processor script changes the document', [
  [[{ script: { source: 'ctx.f = ctx.c * 9 / 5 + 32', lang: 'painless' } }], '{"c":21.5}', '{"c":21.5,"f":70.7}'],
  [
    [{ script: { source: 'ctx.n += params.by', params: { by: 2 } } }],
    '{"n":9007199254740993}',
    '{"n":9007199254740995}',
  ],
  [[{ script: { source: "ctx._index = 'other'; ctx.remove('a'); ctx.id = ctx._id" } }], '{"a":1}', '{"id":"id-1"}'],
  [
    [{ script: { source: 'params.x = 1' } }],
    '{}',
    'processors.0.script script_exception: runtime error: the value is read-only',
  ],
  [
    [{ set: { if: 'ctx.a = 1; return true', field: 'b', value: 1 } }],
    '{}',
    'processors.0.set script_exception: runtime error: the value is read-only',
  ],
  [
    [{ script: { source: 'ctx.a.b.c = 1' } }],
    '{}',
    'processors.0.script script_exception: runtime error: cannot access method/field [b] from a null def reference',
  ],
  [
    [{ script: { source: 'ctx.self = ctx' } }],
    '{}',
    'document illegal_argument_exception: Iterable object is self-referencing itself or nested too deeply',
  ],
])

check('the processors foreach, drop and fail, and the option on_failure, control the pipeline', [
  [
    [{ foreach: { field: 'l', processor: { uppercase: { field: '_ingest._value' } } } }],
    '{"l":["a","b"]}',
    '{"l":["A","B"]}',
  ],
  [
    [{ foreach: { field: 'l', processor: { script: { source: 'ctx._ingest._value.n++' } } } }],
    '{"l":[{"n":1},{"n":2}]}',
    '{"l":[{"n":2},{"n":3}]}',
  ],
  [
    [{ foreach: { field: 'm', processor: { set: { field: '_ingest._value', value: '{{_ingest._key}}!' } } } }],
    '{"m":{"a":1}}',
    '{"m":{"a":"a!"}}',
  ],
  [[{ foreach: { field: 'no', ignore_missing: true, processor: { drop: {} } } }], '{}', '{}'],
  [[{ drop: { if: "ctx.kind == 'noise'" } }, { set: { field: 'a', value: 1 } }], '{"kind":"noise"}', 'dropped'],
  [[{ fail: { message: 'no {{a}}', tag: 't' } }], '{"a":"b"}', 'processors.0.fail fail_processor_exception: no b'],
  [[{ fail: { message: 'x', ignore_failure: true } }, { set: { field: 'a', value: 1 } }], '{}', '{"a":1}'],
  [
    [
      {
        fail: {
          message: 'broken',
          tag: 'first',
          on_failure: [
            {
              set: {
                field: 'e',
                value:
                  '{{_ingest.on_failure_message}} {{_ingest.on_failure_processor_type}} {{_ingest.on_failure_processor_tag}}',
              },
            },
          ],
        },
      },
    ],
    '{}',
    '{"e":"broken fail first"}',
  ],
  [
    [{ fail: { message: 'a', on_failure: [{ fail: { message: 'b' } }] } }],
    '{}',
    'processors.0.fail.on_failure.0.fail fail_processor_exception: b',
  ],
  [
    [
      {
        foreach: { field: 'l', processor: { rename: { field: '_ingest._value.a', target_field: '_ingest._value.b' } } },
      },
    ],
    '{"l":[{"a":1},{}]}',
    "processors.0.foreach.processor.rename illegal_argument_exception: field [_ingest._value.a] doesn't exist",
  ],
])

test('a pipeline can call another pipeline, but not itself', () => {
  const others = new Map<string, CompileResult>()
  const lookup = (name: string) => others.get(name)
  others.set('inner', { pipeline: build({ processors: [{ set: { field: 'inner', value: true } }] }, lookup) })
  others.set('loop', { pipeline: build({ processors: [{ pipeline: { name: 'loop' } }] }, lookup) })
  assert.equal(run([{ pipeline: { name: 'inner' } }], '{}', lookup), '{"inner":true}')
  assert.match(
    run([{ pipeline: { name: 'loop' } }], '{}', lookup),
    /illegal_state_exception: Cycle detected for pipeline: loop/,
  )
  assert.match(run([{ pipeline: { name: 'none' } }], '{}', lookup), /non-existent pipeline \[none\]/)
  assert.equal(run([{ pipeline: { name: 'none', ignore_missing_pipeline: true } }], '{}', lookup), '{}')
})

test('on_failure of the pipeline runs when a processor fails', () => {
  const pipeline = build({
    processors: [{ fail: { message: 'x' } }],
    on_failure: [{ set: { field: 'failed', value: true } }],
  })
  const outcome = pipeline.run({ index: 'i', id: '1', source: new Map(), timestamp })
  assert.ok('document' in outcome && outcome.document?.source.get('failed') === true)
})

test('all processors of a document share one limit of steps, which failure handlers do not extend', () => {
  const loop = { script: { source: 'int n = 0; while (n < 300000) n++', ignore_failure: true } }
  assert.equal(run([loop, loop], '{}'), '{}')
  assert.match(
    run([loop, loop, loop, loop, { set: { field: 'a', value: 1 } }], '{}'),
    /processors\.3\.script script_exception: .*1000000 steps/,
  )
  const growing = { set: { field: 'a', value: '{{a}}{{a}}' } }
  assert.match(run(new Array(40).fill(growing), '{"a":"xxxxxxxx"}'), /out_of_memory_error/)
})
