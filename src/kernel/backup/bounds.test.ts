import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupDatabase } from '../../../test/harness/backup.ts'
import { parseBound, parseKey, printBound, printKey } from './bounds.ts'

test('every partition bound that PostgreSQL prints can be parsed, and PostgreSQL accepts the result as the same bound', async () => {
  const { pool } = await backupDatabase()
  const [quote, backslash] = ["it''s", 'back\\slash']
  for (const [key, bounds] of Object.entries({
    'range (a int)': ['FROM (MINVALUE) TO (-5)', 'FROM (-5) TO (3)', 'FROM (3) TO (MAXVALUE)'],
    'range (a int, b text)': ["FROM (1, 'a') TO (1, MAXVALUE)", "FROM (2, MINVALUE) TO (3, ',)(')"],
    'range (a timestamptz)': ["FROM ('2024-01-01 00:00:00+00') TO ('2024-02-01 12:30:00.5+02')"],
    'range (a numeric)': ["FROM (-1.5) TO ('12345678901234567890.5')", "FROM ('NaN') TO (MAXVALUE)"],
    'list (a text)': [`IN ('${quote}', '${backslash}', '', NULL)`, `IN ('");drop table x;--', 'DEFAULT')`],
    'list (a boolean)': ['IN (true)', 'IN (false, NULL)'],
    'list (a bigint)': ['IN (9007199254740993)', 'IN (-9223372036854775808)'],
    'hash (a int)': ['WITH (modulus 4, remainder 3)', 'WITH (modulus 4, remainder 0)'],
  })) {
    const [, strategy, columns] = key.match(/^(\w+) \((.*)\)$/)!
    const names = columns!.split(', ').map((column) => column.split(' ')[0])
    const make = (table: string) =>
      pool.unsafe(`create table ${table} (${columns}) partition by ${strategy} (${names.join(', ')})`)
    await make('one')
    await make('other')
    const print = (table: string) =>
      pool`select pg_get_expr(relpartbound, oid) as text from pg_class where oid = ${table}::text::regclass`
    for (const [index, bound] of bounds.entries()) {
      await pool.unsafe(`create table one_${index} partition of one for values ${bound}`)
      const [{ text }] = (await print(`one_${index}`)) as unknown as [{ text: string }]
      const parsed = parseBound(text)
      assert.ok(parsed, text)
      await pool.unsafe(`create table other_${index} partition of other ${printBound(parsed)}`)
      assert.equal((await print(`other_${index}`))[0]!.text, text)
    }
    await pool.unsafe('drop table one, other')
  }
  assert.deepEqual(parseBound('DEFAULT'), { kind: 'default' })
})

test('any other text is not parsed as a bound', () => {
  for (const text of [
    '',
    'DEFAULT; drop table x',
    'DEFAULT DEFAULT',
    'FOR VALUES IN (1); drop schema kernel cascade',
    'FOR VALUES IN (1) -- ',
    'FOR VALUES IN (1) /* */',
    'FOR VALUES IN ()',
    'FOR VALUES IN (1',
    'FOR VALUES IN (1,)',
    'FOR VALUES IN (pg_sleep(1))',
    'FOR VALUES IN ((select 1))',
    "FOR VALUES IN ('a'::text)",
    "FOR VALUES IN (E'a\\'')",
    'FOR VALUES IN ($$a$$)',
    "FOR VALUES IN ('a)",
    "FOR VALUES IN ('a\0')",
    'FOR VALUES IN ("a")',
    'FOR VALUES IN (1e5)',
    'FOR VALUES FROM (1) TO (2) partition by list ((1))',
    'FOR VALUES FROM (1)',
    'FOR VALUES WITH (modulus 2, remainder 1, x 3)',
    "FOR VALUES WITH (modulus 2, remainder '1')",
    'FOR VALUES WITH (modulus -2, remainder 1)',
    'for values in (1) tablespace evil',
  ])
    assert.equal(parseBound(text), undefined, text)
})

test('a partition key that consists of columns is parsed, and any other key is rejected', () => {
  const key = parseKey('RANGE (day, "Odd ""name")')
  assert.deepEqual(key, { strategy: 'RANGE', columns: ['day', 'Odd "name'] })
  assert.equal(printKey(key!), 'PARTITION BY RANGE ("day", "Odd ""name")')
  for (const text of [
    '',
    'LIST ()',
    'LIST (lower(a))',
    'LIST ((a + 1))',
    'LIST (a) x',
    'LIST (a); drop table x',
    'TREE (a)',
  ])
    assert.equal(parseKey(text), undefined, text)
})
