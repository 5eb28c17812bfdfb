import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commentsOf, lacksVerb, logTextProblems, nameProblems, proseProblems, proseWarnings } from './prose.ts'

test('block comments and line comments are found with the numbers of their lines', () => {
  const text =
    '/** Opens it. */\nconst a = 1\n  // First line\n  // and second.\nconst b = 2 // not alone\n/* plain */\n'
  assert.deepEqual(commentsOf(text), [
    { line: 1, lines: ['Opens it.'], isDoc: true },
    { line: 3, lines: ['First line', 'and second.'], isDoc: false },
    { line: 6, lines: ['plain'], isDoc: false },
  ])
})

test('comments of SQL files are found, and arithmetic with -- does not count as a comment', () => {
  assert.deepEqual(commentsOf('-- Keeps rows.\nselect 1\n  --b\n'), [{ line: 1, lines: ['Keeps rows.'], isDoc: false }])
})

for (const [comment, expected] of [
  ['/** What nobody knows of it. */', /bare "What"/],
  ['/** Whoever has gone by then. */', /bare "Whoever"/],
  ['/**\n * One that moves faster than this is nowhere.\n */', /bare "One that"/],
  ['// Those of the other node.', /bare "Those"/],
  ['// And not any more.', /bare "And"/],
  ['/** The same for devices. */', /bare "The same"/],
  ['// Rows are locked in order, against deadlocks.', /to avoid/],
  ["/** Tenant; another one than the caller's needs a scope. */", /repeat the noun/],
  ['/** 300 unless the realm says otherwise. */', /default: …/],
  ['/**\n * A.\n * B.\n * C.\n * D.\n */', /4 lines, at most 3/],
] as const)
  test(`a comment such as ${JSON.stringify(comment)} fails the check`, () => {
    assert.match(proseProblems('a.ts', `${comment}\nconst a = 1\n`).join('\n'), expected)
  })

test('plain sentences and directives are accepted', () => {
  const text = '/** Opens the connection. */\n// biome-ignore lint: because\n// Of\n'
  assert.deepEqual(proseProblems('a.ts', '/** Opens the connection. Whatever comes later may start so. */\n'), [])
  assert.deepEqual(proseProblems('a.ts', text), [])
})

for (const code of [
  'const of = 1',
  'function find(sql: Sql, of: Query) {}',
  'const find = (of) => of.id',
  'find(\n  of: {\n    id: string\n  },\n)',
  'const { name, of } = given',
  'const { name, ...of } = given',
  'const { query: of } = given',
  'for (const of of all) of.end()',
  'interface Counts {\n  of(key: string): number\n}',
  'const a = { of: 1 }',
])
  test(`a declaration such as ${JSON.stringify(code)} fails the check`, () => {
    assert.match(nameProblems('a.ts', code).join(), /^a\.ts:\d+: something is called "of"/)
  })

test('the keyword, calls of Array.of and comments do not count as declarations called "of"', () => {
  const code =
    "for (const [a] of Array.of(b)) {}\n// A list (of, say, rows).\n/** The id, of: a row. */\nconst idOf = (a) => 'of: a'\n"
  assert.deepEqual(nameProblems('a.ts', code), [])
})

test('vague words cause a warning', () => {
  assert.match(proseWarnings('a.ts', '/** The house is told. */').join(), /"house"/)
  assert.match(proseWarnings('a.ts', '// Also runs after a reset.').join(), /starts with "Also"/)
  assert.deepEqual(proseWarnings('a.ts', '/** Publishes the event. */'), [])
})

test('a log message without a verb is reported', () => {
  assert.ok(lacksVerb('the blob store'))
  assert.ok(!lacksVerb('heartbeat write failed; retrying in 1 s'))
  assert.ok(!lacksVerb('a forwarded push was lost'))
  const defined = (text: string) => `const x = defineLogMessage({\n  level: 'warn',\n  text: '${text}',\n})`
  assert.match(logTextProblems('a.ts', defined('the blob store')).join(), /has no verb/)
  assert.deepEqual(logTextProblems('a.ts', defined('the blob store failed')), [])
})
