import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationProblems } from './operation-problems.ts'

const good = {
  operationId: 'things.create',
  summary: 'Create a thing',
  parameters: [{ name: 'id', in: 'path', required: true, example: 'a' }],
  requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
  responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } } },
}
const components = { schemas: { Thing: { examples: [{}] }, Bare: {} } }
const problemsOf = (change: object) =>
  operationProblems({ paths: { '/a/{id}': { post: { ...good, ...change } } }, components })

test('a complete operation has no problem', () => assert.deepEqual(problemsOf({}), []))

const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const faults: [what: string, change: object, problem: RegExp][] = [
  ['without a name', { operationId: undefined }, /no name/],
  ['with a name that is not a noun and a verb', { operationId: 'create' }, /no name/],
  ['without a summary', { summary: '' }, /no summary/],
  ['with a summary of two lines', { summary: 'a\nb' }, /no summary/],
  [
    'without an example of a parameter',
    { parameters: [{ name: 'id', in: 'path', required: true }] },
    /id has no example/,
  ],
  [
    'without an example of its body',
    { requestBody: json({ $ref: '#/components/schemas/Bare' }) },
    /body has no example/,
  ],
  ['with an answer without a name', { responses: { 200: json({ type: 'object' }) } }, /has no name/],
]
for (const [what, change, problem] of faults)
  test(`an operation ${what} is reported`, () => {
    const problems = problemsOf(change)
    assert.equal(problems.length, 1)
    assert.match(problems[0]!, problem)
  })

test('two operations with the same name are reported', () => {
  const paths = { '/a/{id}': { post: good }, '/b/{id}': { post: good } }
  assert.match(operationProblems({ paths, components }).join(), /has the same name as POST \/a\/{id}: things\.create/)
})
