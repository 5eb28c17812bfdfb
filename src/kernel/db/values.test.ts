import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { afterAllTests, freshDatabase, independentPool } from '../../../test/harness/database.ts'
import { connect } from '../db.ts'
import { parseArray } from './values.ts'

const connection = await freshDatabase()
const sql = independentPool(connection)
const plain = connect(connection, { max: 1, translate: false })
afterAllTests(() => plain.end())

suite('a parameter', () => {
  const texts = [
    '',
    'plain',
    'ä €😀',
    '"',
    "'; drop table t; --",
    '\\',
    '{',
    '}',
    ',',
    'NULL',
    ' a ',
    'a\nb',
    '$1',
    '\u2028',
  ]

  test('a parameter is never part of the text of the statement', async () => {
    for (const text of texts) assert.equal((await sql`select ${text}::text as back`)[0]?.back, text)
    for (const length of [4095, 4097, 100_000, 1_000_000]) {
      const text = 'ü'.repeat(length)
      assert.equal((await sql`select ${text}::text as back`)[0]?.back, text)
    }
  })

  test('a parameter of any type is returned unchanged', async () => {
    const date = new Date('2031-02-03T04:05:06.789Z')
    const [row] = await sql`
      select ${1}::int as int, ${2 ** 52}::bigint as big, ${2n ** 40n} as bigger, ${1.5}::float8 as float, ${true} as yes,
        ${false} as no, ${null}::text as nothing, ${date} as date, ${Buffer.from([0, 255, 92])} as bytes,
        ${new Uint8Array([1, 2])} as typed, ${sql.json({ a_b: [1, null, 'x'] })} as json, ${sql.json('text')} as json_text,
        ${sql.json([])} as json_list, ${'1.10'}::numeric as number`
    assert.deepEqual(row, {
      int: 1,
      big: 2 ** 52,
      bigger: 2 ** 40,
      float: 1.5,
      yes: true,
      no: false,
      nothing: null,
      date,
      bytes: Buffer.from([0, 255, 92]),
      typed: Buffer.from([1, 2]),
      json: { a_b: [1, null, 'x'] },
      jsonText: 'text',
      jsonList: [],
      number: '1.10',
    })
  })

  test('a parameter that is a list is returned unchanged', async () => {
    const dates = [new Date(0), new Date(86_400_001)]
    const [row] = await sql`
      select ${texts}::text[] as texts, ${[]}::text[] as none, ${[1, -2, null]}::int[] as ints, ${[2 ** 52]}::bigint[] as bigs,
        ${[0.5, Number.NaN, Number.POSITIVE_INFINITY]}::float8[] as floats, ${[true, false]}::boolean[] as flags,
        ${dates}::timestamptz[] as dates, ${[Buffer.from('a"\\'), Buffer.alloc(0)]}::bytea[] as bytes,
        ${[sql.json({ a: '"\\' }), sql.json([1])]}::jsonb[] as jsons, ${[['a', 'b'], ['c,', null]]}::text[] as nested`
    assert.deepEqual(row, {
      texts,
      none: [],
      ints: [1, -2, null],
      bigs: [2 ** 52],
      floats: [0.5, Number.NaN, Number.POSITIVE_INFINITY],
      flags: [true, false],
      dates,
      bytes: [Buffer.from('a"\\'), Buffer.alloc(0)],
      jsons: [{ a: '"\\' }, [1]],
      nested: [
        ['a', 'b'],
        ['c,', null],
      ],
    })
  })

  test('a parameter is sent with its type if PostgreSQL would otherwise infer a different type', async () => {
    const [row] = await sql`select ${new Date(86_400_000)} - interval '1 day' as before, ${true} and ${false} as both`
    assert.deepEqual(row, { before: new Date(0), both: false })
    // With the value null, the parameter types differ, so the same text is prepared as a different statement.
    for (const at of [new Date(5), null, new Date(6), null])
      assert.deepEqual((await sql`select ${at}::timestamptz as at`)[0], { at })
  })

  test('a parameter that cannot be encoded is rejected before anything is sent', async () => {
    for (const value of [undefined, () => {}, Symbol('x')]) {
      await assert.rejects(sql`select ${value as never}`, /parameter/)
      await assert.rejects(sql`select ${[value] as never}::text[]`, /parameter/)
      assert.throws(() => sql.json(value), /sql\.json/)
    }
    assert.throws(() => sql.json(undefined))
  })
})

test('dates of every format are parsed', async () => {
  for (const text of [
    '2031-01-02 03:04:05+00',
    '2031-01-02 03:04:05.6+00',
    '2031-01-02 03:04:05.67+00',
    '2031-01-02 03:04:05.678901+00',
    '1999-12-31 23:59:59.999999+00',
    '1850-06-01 00:00:00+00',
    '0099-06-01 00:00:00+00',
  ]) {
    const [row] =
      await sql`select ${text}::text::timestamptz as at, floor(extract(epoch from ${text}::text::timestamptz) * 1000)::bigint as ms`
    assert.equal(row!.at.getTime(), row!.ms, text)
  }
  const [row] =
    await sql`select date '2031-02-03' as day, timestamp '2031-02-03 04:05:06' as local, 'infinity'::timestamptz as never`
  assert.deepEqual(row!.day, new Date('2031-02-03'))
  assert.deepEqual(row!.local, new Date('2031-02-03 04:05:06'))
  assert.ok(Number.isNaN(row!.never.getTime()))
})

test('arrays of every format are parsed', () => {
  for (const [text, expected] of [
    ['{}', []],
    ['{1,2}', ['1', '2']],
    ['{NULL,"NULL"}', [null, 'NULL']],
    ['{"a,b","{","\\"","\\\\"}', ['a,b', '{', '"', '\\']],
    [
      '{{a,b},{c,NULL}}',
      [
        ['a', 'b'],
        ['c', null],
      ],
    ],
    ['[0:1]={a,b}', ['a', 'b']],
    ['[2:3]={"a",b}', ['a', 'b']],
  ] as const)
    assert.deepEqual(
      parseArray(text, (part) => part),
      expected,
      text,
    )
})

suite('fragments of statements', () => {
  test('fragments of statements keep their values in order', async () => {
    const condition = sql`n between ${2} and ${4}`
    const many = [1, 2, 3].map((n) => sql`or n = ${n * 10}`)
    const rows = await sql`
      select n from generate_series(${1}::int, ${40}::int) n where (${condition} ${many}) and ${sql`n <> ${3}`} order by n`
    assert.deepEqual(
      rows.map(({ n }) => n),
      [2, 4, 10, 20, 30],
    )
  })

  test('fragments of statements can be names, rows, assignments and lists', async () => {
    await sql`create table things (id int primary key, some_text text, "odd""name" int)`
    await sql`insert into things ${sql({ id: 1, someText: 'one', 'odd"name': 7 })}`
    const { count } = await sql`insert into things ${sql([
      { id: 2, someText: 'two' },
      { id: 3, someText: null },
    ])}`
    assert.equal(count, 2)
    await sql`update things set ${sql({ someText: sql`upper(some_text)` as never, 'odd"name': 8 })} where id in ${sql([1, 2])}`
    const rows = await sql`select ${sql(['id', 'someText'])} from ${sql('public.things')} order by ${sql('things.id')}`
    assert.deepEqual(
      [...rows],
      [
        { id: 1, someText: 'ONE' },
        { id: 2, someText: 'TWO' },
        { id: 3, someText: null },
      ],
    )
    await assert.rejects(sql`select from things where id in ${sql([])}`, /empty list/)
    await assert.rejects(sql`select from things where ${sql({ id: 1 })}`, /row/)
  })

  test('fragments of statements can select columns of any name', async () => {
    const [row] = await plain.unsafe(
      `select 1 as "__proto__", 2 as "a""b", 3 as "constructor", 4 as "x'\`$y", 5 as same, 6 as same`,
    )
    assert.deepEqual(Object.entries(row!), [
      ['__proto__', 1],
      ['a"b', 2],
      ['constructor', 3],
      ["x'`$y", 4],
      ['same', 6],
    ])
  })
})

test('column names are translated to camelCase, or left unchanged with translate: false', async () => {
  assert.deepEqual((await plain`select 1 as some_name, 2 as "otherName"`)[0], { some_name: 1, otherName: 2 })
  assert.deepEqual((await sql`select 1 as some_name, 2 as a_1`)[0], { someName: 1, a1: 2 })
})
