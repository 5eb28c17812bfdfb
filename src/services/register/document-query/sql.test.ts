import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { afterAllTests, freshDatabase } from '../../../../test/harness/database.ts'
import { connect, type Pool } from '../../../kernel/db.ts'
import { parse } from './parse.ts'
import { toSql } from './sql.ts'

let sql: Pool
const columns = { metadata: 'e.metadata', versionName: 'e.version_name' }

before(async () => {
  sql = connect(await freshDatabase(), { max: 1 })
  afterAllTests(() => sql.end())
  await sql`create table endpoints (seq int8 primary key, version_name text, metadata jsonb not null)`
  await sql`
    insert into endpoints
    select n, 'v' || n % 3, jsonb_build_object('city', 'city' || n % 500, 't', n % 1000 - 500, 'serial', 'SN' || n,
      'connected', n % 2 = 0, 'pos', jsonb_build_object('lat', n % 700, 'tags', jsonb_build_array('x' || n % 400)))
    from generate_series(1, 20000) n`
  await sql`create index endpoints_metadata on endpoints using gin (metadata jsonb_path_ops)`
  await sql`analyze endpoints`
})

interface Plan {
  'QUERY PLAN': { Plan: object }[]
}

async function plan(query: unknown) {
  const condition = toSql(sql, parse(query), columns)
  const [plan] = await sql<Plan[]>`explain (format json) select seq from endpoints e where ${condition}`
  const [{ count } = { count: -1 }] = await sql<
    { count: number }[]
  >`select count(*) from endpoints e where ${condition}`
  return { usesIndex: JSON.stringify(plan).includes('"endpoints_metadata"'), count }
}

const indexed: [query: unknown, count: number][] = [
  [{ 'metadata.city': 'city7' }, 40],
  [{ 'metadata.t': -5 }, 20],
  [{ 'metadata.serial': { $eq: 'SN77' } }, 1],
  [{ 'metadata.city': { $in: ['city7', 'city8', 'nowhere'] } }, 80],
  [{ 'metadata.t': { $in: [1, -2, 3] } }, 60],
  [{ 'metadata.serial': { $in: Array.from({ length: 300 }, (_, index) => `SN${index + 1}`) } }, 300],
  [{ metadata: { $elemMatch: { key: 'city', value: 'city7' } } }, 40],
  [{ metadata: { $elemMatch: { key: 'city', value: { $in: ['city7', 'city8'] } } } }, 80],
  [{ metadata: { $elemMatch: { key: { $in: ['city', 'serial'] }, value: 'city7' } } }, 40],
  [{ metadata: { key: 'city', value: 'city7' } }, 40],
  [
    {
      metadata: {
        $all: [{ $elemMatch: { key: 'city', value: 'city7' } }, { $elemMatch: { key: 't', value: 7 - 500 } }],
      },
    },
    20,
  ],
  [{ 'metadata.pos.lat': 5 }, 29],
  [{ 'metadata.pos.tags': 'x5' }, 50],
  [{ 'metadata.pos': { tags: ['x5'], lat: 5 } }, 8],
  [{ 'metadata.city': 'city7', 'metadata.t': { $gt: 0 }, application_version: 'v1' }, 7],
  [{ $or: [{ 'metadata.city': 'city7' }, { 'metadata.serial': 'SN1' }] }, 41],
]

for (const [query, count] of indexed)
  test(`PostgreSQL uses the index for ${JSON.stringify(query).slice(0, 90)}`, async () => {
    assert.deepEqual(await plan(query), { usesIndex: true, count })
  })

for (const query of [
  { 'metadata.t': { $gt: 490 } },
  { 'metadata.city': { $regex: '^city7$' } },
  { 'metadata.gone': null },
  { 'metadata.value': 'city7' },
  { 'metadata.city': { $ne: 'city7' } },
])
  test(`PostgreSQL scans the table instead of the whole index for ${JSON.stringify(query)}`, async () => {
    assert.equal((await plan(query)).usesIndex, false)
  })

test('texts in queries of users are sent as parameters, never as part of the statement', async () => {
  const text = `'"; drop table endpoints; --$1 \\ ) ? ( @`
  const query = {
    $or: [
      { 'metadata.city': text },
      { [`metadata.${text.replaceAll('.', '')}`]: { $gt: text } },
      { application_version: text },
    ],
  }
  assert.equal((await plan(query)).count, 0)
})
