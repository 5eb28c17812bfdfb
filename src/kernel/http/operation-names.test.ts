import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describedAs, Type } from '../schema.ts'
import { createComponents } from './components.ts'
import { causeOf } from './failure-causes.ts'
import { createNameCheck, nameProblem } from './operation-names.ts'

test('a name consists of nouns and a known verb that fits the method', () => {
  for (const [name, method] of [
    ['endpoints.list', 'GET'],
    ['endpoints.metadata.patch', 'PATCH'],
    ['x509Credentials.create', 'POST'],
  ] as const)
    assert.equal(nameProblem(name, method), undefined, name)
  for (const [name, method, problem] of [
    [undefined, 'GET', /expected a name/],
    ['', 'GET', /expected a name/],
    ['list', 'GET', /expected a name/],
    ['Endpoints.list', 'GET', /expected a name/],
    ['end-points.list', 'GET', /expected a name/],
    ['endpoints..list', 'GET', /expected a name/],
    ['endpoints.fetch', 'GET', /not one of the verbs/],
    ['endpoints.constructor', 'GET', /not one of the verbs/],
    ['endpoints.list', 'POST', /list is for GET/],
    ['endpoints.update', 'PATCH', /update is for PUT/],
  ] as const)
    assert.match(nameProblem(name, method) ?? 'none', problem, name)
})

test('two operations with the same name are rejected, and a summary with two lines is rejected', () => {
  const check = createNameCheck()
  const route = { method: 'GET', root: '/api', path: '/things' }
  check({ ...route, schema: { name: 'things.list', summary: 'List things' } })
  assert.throws(
    () => check({ ...route, path: '/others', schema: { name: 'things.list', summary: 'List others' } }),
    /GET \/api\/others and GET \/api\/things have the same name things\.list/,
  )
  for (const summary of [undefined as never, '', ' ', 'List\nthings'])
    assert.throws(() => check({ ...route, schema: { name: 'others.list', summary } }), /a summary of one line/)
})

test('the document contains a shape with a title once, without the internal properties of TypeBox', () => {
  const { refer, schemas } = createComponents()
  const Inner = Type.Object({ title: Type.Optional(Type.String()) }, { title: 'Inner' })
  const Outer = Type.Object({ one: Inner, more: Type.Array(Inner) }, { title: 'Outer' })
  assert.deepEqual(refer(Outer, 'response'), { $ref: '#/components/schemas/Outer' })
  assert.deepEqual(refer(describedAs(Outer, 'here'), 'response'), {
    $ref: '#/components/schemas/Outer',
    description: 'here',
  })
  const inner = { $ref: '#/components/schemas/Inner' }
  assert.deepEqual(schemas(), {
    Inner: { type: 'object', properties: { title: { type: 'string' } }, title: 'Inner' },
    Outer: {
      type: 'object',
      required: ['one', 'more'],
      properties: { one: inner, more: { type: 'array', items: inner } },
      title: 'Outer',
    },
  })
})

test('a shape keeps the description of its declaration, whichever use comes first', () => {
  const { refer, schemas } = createComponents()
  const Thing = Type.Object({}, { title: 'Thing', description: 'A thing.' })
  const reference = { $ref: '#/components/schemas/Thing' }
  assert.deepEqual(refer(describedAs(describedAs(Thing, 'Another use.'), 'This use.'), 'response'), {
    ...reference,
    description: 'This use.',
  })
  assert.deepEqual(refer(Thing, 'response'), reference)
  assert.equal(schemas().Thing?.description, 'A thing.')
})

test('an operation must declare the cause of an error status that has no common cause', () => {
  const schema = { name: 'things.get', summary: 'Get a thing', response: {} }
  assert.throws(() => causeOf(409, { access: { scope: 'none' }, schema }), /things\.get responds with 409/)
  const explained = { ...schema, fails: { 409: 'The thing is in use.', 404: 'There is no such thing.' } }
  assert.equal(causeOf(409, { access: { scope: 'none' }, schema: explained }), 'The thing is in use.')
  assert.equal(causeOf(404, { access: { scope: 'none' }, schema: explained }), 'There is no such thing.')
})

test('two different shapes cannot have the same title, and a title must be an identifier', () => {
  const { refer } = createComponents()
  refer(Type.Object({ a: Type.String() }, { title: 'Thing' }), 'response')
  assert.throws(() => refer(Type.Object({ b: Type.String() }, { title: 'Thing' }), 'response'), /the title Thing/)
  assert.throws(() => refer(Type.Object({}, { title: 'a thing' }), 'response'), /a thing/)
})

test('fields with a default are required in responses only; examples are not changed', () => {
  const { refer } = createComponents()
  const shape = Type.Object(
    { limit: Type.Integer({ default: 10 }), name: Type.String() },
    { examples: [{ title: 'Not a shape', required: ['limit'] }] },
  )
  assert.deepEqual(refer(shape, 'request').required, ['name'])
  assert.deepEqual(refer(shape, 'response').required, ['limit', 'name'])
  assert.deepEqual(refer(shape, 'request').examples, [{ title: 'Not a shape', required: ['limit'] }])
})
