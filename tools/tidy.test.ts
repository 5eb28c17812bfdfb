import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProblems } from './tidy.ts'

const problemsOf = (files: Record<string, string>) => findProblems(new Map(Object.entries(files)))

for (const [name, files, expected] of [
  [
    'kernel looking up',
    { 'src/kernel/a.ts': "import { x } from '../services/t/contract.ts'" },
    /kernel imports nothing above it/,
  ],
  [
    'a service reaching into another',
    { 'src/services/a/service.ts': "import { x } from '../b/store.ts'" },
    /knock at contract/,
  ],
  ['a store looking up', { 'src/services/a/store.ts': "import { x } from './service.ts'" }, /a store does not look up/],
  [
    'a service that knows its edge',
    { 'src/services/a/service.ts': "import { x } from './routes.ts'" },
    /does not know its edges/,
  ],
  [
    'an edge that skips the service',
    { 'src/services/a/routes/b.ts': "import { x } from '../store.ts'" },
    /goes through the service/,
  ],
  ['the environment', { 'src/services/a/service.ts': 'process.env.X' }, /reads process\.env/],
  ['the time', { 'src/services/a/service.ts': 'const t = Date.now()' }, /reads the time/],
  ['a class', { 'src/services/a/service.ts': 'export class Thing {}' }, /no classes/],
  ['SQL in a service', { 'src/services/a/service.ts': 'await sql`select 1`' }, /SQL stands in a store/],
  ['tables of another', { 'src/services/a/store.ts': 'sql`select * from b.things`' }, /another service's tables \(b\)/],
  ['a hook that neighbours would feel', { 'src/kernel/a.test.ts': 'after(() => close())' }, /use atTheEnd/],
  [
    'a long function',
    { 'bench/a.ts': `function run() {\n${'  step()\n'.repeat(100)}}\n` },
    /bench\/a.ts:1: a function of 102 lines, at most 100/,
  ],
  ['a long file', { 'src/services/a/service.ts': 'x\n'.repeat(500) }, /at most 400/],
  [
    'a circle',
    { 'src/services/a/x.ts': "import { y } from './y.ts'", 'src/services/a/y.ts': "import { x } from './x.ts'" },
    /circle: /,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`the house refuses ${name}`, () => {
    assert.match(problemsOf(files).join('\n'), expected)
  })

test('the house accepts its own way', () => {
  assert.deepEqual(
    problemsOf({
      'src/services/a/routes.ts': "import { x } from './schemas.ts'\nimport type { A } from './contract.ts'",
      'src/services/a/service.ts': "import * as store from './store.ts'\nimport { B } from '../b/contract.ts'",
      'src/services/a/store.ts': 'sql`select * from a.things join a.others using (id)`',
      'src/services/a/errors.ts': 'export class Odd extends Error {}',
    }),
    [],
  )
})
