import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateFile } from './simulate.ts'

const timestamp = '2026-02-03T04:05:06.789Z'

const simulate = (file: unknown) => simulateFile(typeof file === 'string' ? file : JSON.stringify(file), timestamp)

test('the simulation of a file returns results, dropped and failed documents in order and in the format of the API', () => {
  const result = simulate(
    `{"pipeline":{"processors":[{"drop":{"if":"ctx.n == 0"}},{"script":{"source":"ctx.n = ctx.n + 1"}},{"pipeline":{"name":"more"}}]},
      "pipelines":{"more":{"processors":[{"set":{"field":"more","value":"{{_id}}"}}]}},
      "docs":[{"_index":"i","_id":"a","_source":{"n":9007199254740993}},{"_source":{"n":0}},{"_source":{}}]}`,
  )
  assert.ok('documents' in result)
  const [first, dropped, failed] = result.documents
  assert.equal(
    first,
    `{"doc":{"_index":"i","_type":"_doc","_id":"a","_source":{"n":9007199254740994,"more":"a"}},"_ingest":{"timestamp":"${timestamp}"}}`,
  )
  assert.equal(dropped, 'null')
  const { error } = JSON.parse(failed!) as { error: Record<string, unknown> }
  assert.equal(error.type, 'script_exception')
  assert.equal(error.reason, 'runtime error')
  assert.deepEqual(error.caused_by, {
    type: 'null_pointer_exception',
    reason: 'Cannot apply [+] operation to null.',
  })
  assert.equal((error.root_cause as { type: string }[])[0]?.type, 'script_exception')
})

test('a file with the fields processors and docs, without the field pipeline, is accepted', () => {
  const result = simulate({ processors: [{ set: { field: 'a', value: 1 } }], docs: [{ _source: {} }] })
  assert.ok('documents' in result && result.documents[0]?.includes('"_source":{"a":1}'))
})

test('a document that reaches a pipeline with mistakes fails with the first mistake', () => {
  const result = simulate({
    pipeline: {
      processors: [{ pipeline: { name: '{{name}}', ignore_missing_pipeline: true } }],
    },
    pipelines: { faulty: { processors: [{ set: {} }] }, odd: [] },
    docs: [{ _source: { name: 'faulty' } }, { _source: { name: 'odd' } }, { _source: { name: 'none' } }],
  })
  assert.ok('documents' in result)
  const [faulty, odd, none] = result.documents.map((text) => JSON.parse(text))
  assert.equal(faulty.error?.type, 'illegal_state_exception')
  assert.match(
    faulty.error.reason,
    /^pipeline with id \[faulty\] could not be loaded, caused by \[processors\.0\.set: .*required property is missing\]$/,
  )
  assert.match(odd.error.reason, /\[odd\] could not be loaded, caused by \[.*a pipeline must be an object\]/)
  assert.deepEqual(none.doc._source, { name: 'none' })
})

test('a file that is not a valid simulation is rejected with the reason', () => {
  for (const [file, reason] of [
    ['{', /not JSON/],
    ['[]', /must hold an object/],
    [{ processors: [] }, /docs must be a list/],
    [{ processors: [], docs: [{}] }, /docs must be a list/],
    [{ docs: [] }, /the pipeline has mistakes/],
    [{ processors: [{ set: {} }], docs: [] }, /the pipeline has mistakes/],
  ] as const) {
    const result = simulate(file)
    assert.ok('problem' in result && reason.test(result.problem), JSON.stringify(file))
  }
})
