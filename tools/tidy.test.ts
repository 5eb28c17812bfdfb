import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProblems } from './tidy.ts'

const problemsOf = (files: Record<string, string>) => findProblems(new Map(Object.entries(files)))

for (const [name, files, expected] of [
  [
    'an import from the kernel to a service',
    { 'src/kernel/a.ts': "import { x } from '../services/t/contract.ts'" },
    /the kernel imports only itself/,
  ],
  [
    'an import from the sandbox to the kernel',
    { 'src/sandbox/a.ts': "import { x } from '../kernel/clock.ts'" },
    /the sandbox imports only itself/,
  ],
  [
    'an import of an internal file of another service',
    { 'src/services/a/service.ts': "import { x } from '../b/store.ts'" },
    /only contract\.ts and events\.ts/,
  ],
  [
    'an import from a store to its service',
    { 'src/services/a/store.ts': "import { x } from './service.ts'" },
    /a store imports no service/,
  ],
  [
    'an import from a service to its routes',
    { 'src/services/a/service.ts': "import { x } from './routes.ts'" },
    /a service imports no routes/,
  ],
  [
    'an import from routes to a store',
    { 'src/services/a/routes/b.ts': "import { x } from '../store.ts'" },
    /go through the service/,
  ],
  ['reading the environment', { 'src/services/a/service.ts': 'process.env.X' }, /read process\.env/],
  ['reading the time', { 'src/services/a/service.ts': 'const t = Date.now()' }, /reads the time/],
  [
    'a comment without a subject',
    { 'src/services/a/service.ts': '/** What nobody knows. */' },
    /starts with a bare "What"/,
  ],
  ['a warning without a defined message', { 'src/services/a/service.ts': "log.warn({}, 'x')" }, /defineLogMessage/],
  ['a class', { 'src/services/a/service.ts': 'export class Thing {}' }, /no classes/],
  [
    'a long function',
    { 'bench/a.ts': `function run() {\n${'  step()\n'.repeat(100)}}\n` },
    /bench\/a.ts:1: a function has 102 lines; the maximum is 100/,
  ],
  ['SQL in a service', { 'src/services/a/service.ts': 'await sql`select 1`' }, /SQL belongs in a store/],
  [
    'a table of another service',
    { 'src/services/a/store.ts': 'sql`select * from b.things`' },
    /another service's tables \(b\)/,
  ],
  ['a global hook in a test file', { 'src/kernel/a.test.ts': 'after(() => close())' }, /use afterAllTests/],
  ['a long file', { 'src/services/a/service.ts': 'x\n'.repeat(500) }, /at most 400/],
  [
    'circular imports',
    { 'src/services/a/x.ts': "import { y } from './y.ts'", 'src/services/a/y.ts': "import { x } from './x.ts'" },
    /circular import: /,
  ],
  [
    'circular imports of which one is an import at run time',
    { 'sdk/src/x.ts': "import type { Y } from './y.ts'", 'sdk/src/y.ts': "await import('./x.ts')" },
    /circular import: sdk/,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`tidy rejects ${name}`, () => {
    assert.match(problemsOf(files).join('\n'), expected)
  })

test('tidy accepts files that follow the rules', () => {
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
