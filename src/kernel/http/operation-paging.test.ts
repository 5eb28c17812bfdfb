import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentPage, countedPage, numberedQuery, offsetQuery, pageQuery } from '../paging.ts'
import { JsonObject, Type } from '../schema.ts'
import { pagingOf } from './operation-paging.ts'

const Thing = Type.Object({ id: Type.String() })
const operation = (response: object, more: object = {}, name = 'things.list') =>
  pagingOf({ name, summary: 'List things', response: { 200: response as never }, ...more })

test('paging by offset and limit in the query is recognised', () =>
  assert.deepEqual(operation(contentPage(Thing), { query: Type.Object(offsetQuery(20)) }), {
    style: 'offset',
    in: 'query',
    parameters: ['offset', 'limit'],
    first: 0,
    size: 20,
    items: 'content',
    total: 'totalElements',
  }))

test('paging by page and size in the body is recognised', () => {
  const found = operation(contentPage(Thing), { body: Type.Object(pageQuery(50)) }, 'things.search')
  assert.deepEqual([found?.style, found?.in, found?.parameters, found?.size], ['page', 'body', ['page', 'size'], 50])
})

test('pages that are counted from 1 are recognised', () => {
  const shape = Type.Object({ data: Type.Array(Thing), count: Type.Integer() })
  const found = operation(shape, { query: Type.Object(numberedQuery()) })
  assert.deepEqual(
    [found?.first, found?.parameters, found?.items, found?.total],
    [1, ['page', 'pageSize'], 'data', 'count'],
  )
})

test('paging by a cursor is recognised', () => {
  const shape = Type.Object({ items: Type.Array(Thing), nextCursor: Type.Optional(Type.String()) })
  const query = Type.Object({ cursor: Type.Optional(Type.String()), limit: Type.Integer({ default: 10 }) })
  const found = operation(shape, { query })
  assert.deepEqual([found?.style, found?.parameters, found?.next], ['cursor', ['cursor', 'limit'], 'nextCursor'])
})

test('a list without pages is the whole response or a field of the response', () => {
  assert.deepEqual(operation(Type.Array(Thing)), { style: 'none', items: '' })
  assert.deepEqual(operation(countedPage(Thing)), { style: 'none', items: 'results', total: 'count' })
})

test('a map, and an operation that is not a list, are not paged', () => {
  assert.equal(operation(JsonObject()), undefined)
  assert.equal(operation(Type.Array(Thing), {}, 'things.get'), undefined)
})
