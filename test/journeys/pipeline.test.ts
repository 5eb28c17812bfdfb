/** Tests the command `waypost pipeline simulate`, which runs a pipeline on example documents without a platform. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { runCommand } from '../harness/platform.ts'

async function simulate(content: string) {
  const file = join(temporaryDirectory(), 'simulation.json')
  writeFileSync(file, content)
  return { file, ...(await runCommand(['pipeline', 'simulate', file])) }
}

test('the command prints changed, failed and dropped documents in order and in the format of the API; integers keep 64 bits', async () => {
  const { code, stdout, stderr } = await simulate(`{
    "pipeline": {"processors": [
      {"drop": {"if": "ctx.skip == true"}},
      {"pipeline": {"name": "shared"}},
      {"script": {"source": "ctx.fahrenheit = ctx.celsius * 1.8 + 32"}}
    ]},
    "pipelines": {"shared": {"processors": [{"rename": {"field": "c", "target_field": "celsius"}}]}},
    "docs": [
      {"_source": {"c": 20, "serial": 9223372036854775807}},
      {"_source": {"celsius": 1}},
      {"_source": {"skip": true}}
    ]}`)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /"serial":9223372036854775807/)
  const { docs } = JSON.parse(stdout)
  assert.equal(docs.length, 3)
  assert.deepEqual([docs[0].doc._source.celsius, docs[0].doc._source.fahrenheit], [20, 68])
  assert.equal(docs[1].error.type, 'illegal_argument_exception')
  assert.match(docs[1].error.reason, /\[c\]/)
  assert.equal(docs[2], null)
})

const wrong: Record<string, [content: string, problem: RegExp]> = {
  'a file that is not JSON': ['{"pipeline"', /the file is not JSON/],
  'a file without documents': ['{"pipeline": {"processors": []}}', /docs must be a list/],
  'an unknown processor': [
    '{"pipeline": {"processors": [{"dance": {}}]}, "docs": []}',
    /the pipeline has mistakes\n.*processors\.0.*dance/,
  ],
  'a script that does not compile': [
    '{"pipeline": {"processors": [{"script": {"source": "ctx.a ="}}]}, "docs": []}',
    /processors\.0\.script/,
  ],
}
for (const [what, [content, problem]] of Object.entries(wrong))
  test(`${what} ends with status 1, names the file and says what is wrong`, async () => {
    const { code, stdout, stderr, file } = await simulate(content)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, problem)
    assert.ok(stderr.includes(file))
  })

test('a missing file and a missing argument have different exit codes and messages', async () => {
  const missing = await runCommand(['pipeline', 'simulate', '/nowhere/pipeline.json'])
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /\/nowhere\/pipeline\.json cannot be read/)
  const unused = await runCommand(['pipeline', 'simulate'])
  assert.equal(unused.code, 2)
  assert.match(unused.stderr, /usage: waypost pipeline simulate <file>/)
})
