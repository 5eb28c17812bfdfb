/** Tests the command `waypost rules try`. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../harness/database.ts'
import { runCommand, startPlatform } from '../harness/platform.ts'

const examples = fileURLToPath(new URL('../../examples/rules', import.meta.url))
const { directory, asService, bootstrap } = await startPlatform()
const ask = await asService(bootstrap.default)
const tryRule = (...args: string[]) => runCommand(['rules', 'try', ...args], { directory })
const files = temporaryDirectory()
const aFile = (name: string, text: string) => {
  const file = join(files, name)
  writeFileSync(file, text)
  return file
}

test('`rules try` prints the value and the log of an example, and leaves no rule behind', async () => {
  const { code, stdout } = await tryRule(`${examples}/key-removed.js`, '--event', `${examples}/key-removed.json`)
  assert.equal(stdout, 'log: removed: owner\nreturned: true\n')
  assert.equal(code, 0)
  assert.equal((await ask('GET /re/api/v1/rules')).body.totalElements, 0)
})

test('`rules try` prints the effects that the actions of a rule would have', async () => {
  const idOf = async (path: string, body: object) =>
    (await ask(`POST /re/api/v1${path}`, body)).headers.get('location')!.split('/').at(-1)!
  const ruleId = await idOf('/rules', { name: 'r', expression: 'return false' })
  const fields = {
    name: 'a',
    webhookUrl: 'https://example.org/x',
    webhookPayloadExpression: 'return { n: ctx.data.n }',
  }
  const actionId = await idOf('/action-types/webhook/actions', fields)
  const links = { positiveActionIds: [actionId] }
  assert.equal((await ask(`PUT /re/api/v1/rules/${ruleId}/action-types/webhook/actions`, links)).status, 204)
  const script = aFile('script.js', 'ctx.data.n = ctx.trigger.n\nreturn true')
  const event = aFile('event.json', '{"n": 7}')
  const { code, stdout } = await tryRule(script, '--event', event, '--rule', ruleId)
  assert.match(
    stdout,
    /^returned: true\nwould do: \S+ \{"method":"POST","url":"https:\/\/example\.org\/x",.*\{\\"n\\":7\}/,
  )
  assert.equal(code, 0)
})

test('`rules try` reports where a script fails, and which argument is wrong', async () => {
  const event = aFile('empty.json', '{}')
  const broken = await tryRule(aFile('broken.js', 'const a = 1\nreturn ctx.endpoint.endpointId'), '--event', event)
  assert.match(broken.stdout, /^failed: RULE \(EXPRESSION_EVALUATION\): .*line 2, column \d+/)
  assert.equal(broken.code, 1)
  const invalid = await tryRule(aFile('invalid.js', 'return ('), '--event', event)
  assert.match(invalid.stderr, /400 .*expression: line 1, column \d+/)
  assert.equal(invalid.code, 1)
  for (const [args, message] of [
    [[`${examples}/leak.js`], /expected: rules try <file> --event <file>/],
    [['/nowhere.js', '--event', event], /\/nowhere\.js cannot be read \(ENOENT\)/],
    [[`${examples}/leak.js`, '--event', `${examples}/leak.js`], /leak\.js is not JSON/],
    [[`${examples}/leak.js`, '--event', aFile('list.json', '[]')], /expected a JSON object/],
  ] as [string[], RegExp][]) {
    const { code, stderr } = await tryRule(...args)
    assert.match(stderr, message)
    assert.equal(code, 2)
  }
})
