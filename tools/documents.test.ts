import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentProblems, unlistedServices } from './documents.ts'

const files = new Set(['README.md', 'docs/adr/0001-a.md', 'src/kernel/cache.ts', 'src/services/a/README.md'])
const inService = (name: string) => `src/services/a/${name}`
for (const name of ['service.ts', 'read/reader.ts', 'migrations/0001_a.sql']) files.add(inService(name))

const problemsOf = (document: string, text: string) =>
  documentProblems(
    new Map([
      ['docs/adr/0001-a.md', '# 1. A decision\n\n## What `it` is, and why\n'],
      [document, text],
    ]),
    files,
  )

for (const [what, text] of [
  ['a file beside the document', 'See `service.ts`.'],
  ['a file in a folder below the document', 'See `read/reader.ts` and `reader.ts`.'],
  ['a file of the kernel', 'See `kernel/cache.ts` and `cache.ts`.'],
  ['a file that every service has', 'See `states.ts`.'],
  ['a name with a wildcard', 'See `*.test.ts`.'],
  ['a migration', 'See `migrations/0001_a.sql`.'],
  ['an SQL client that looks like a file', 'Use `db.sql`.'],
  [
    'a link to a document, a heading and a folder',
    '[a](../../../docs/adr/0001-a.md#what-it-is-and-why) [b](../../kernel/)',
  ],
  ['a link to a heading of its own', '## One\n\n[a](#one)'],
  ['a link to another site', '[a](https://example.com/x.md)'],
  ['names and links in a block of code', '```\n[a](b.md) `x.ts`\n```'],
] as const)
  test(`a document may contain ${what}`, () => {
    assert.deepEqual(problemsOf(inService('README.md'), text), [])
  })

for (const [what, text, problem] of [
  ['a link to a missing document', '[a](../b.md)', /the target of the link \.\.\/b\.md does not exist/],
  ['a link to a missing heading', '[a](../../../docs/adr/0001-a.md#other)', /names a heading that does not exist/],
  ['a link to a missing heading of its own', '## One\n\n[a](#two)', /#two names a heading/],
  ['a file that was renamed', 'See `read/old-name.ts`.', /there is no file read\/old-name\.ts/],
  ['a migration that does not exist', 'See `migrations/0002_b.sql`.', /there is no file migrations/],
] as const)
  test(`a document with ${what} is reported`, () => {
    const problems = problemsOf(inService('README.md'), text)
    assert.equal(problems.length, 1)
    assert.match(problems[0]!, problem)
  })

test('a guide may name files that its reader creates', () => {
  assert.deepEqual(problemsOf('docs/guides/b.md', 'Write `src/services/new/service.ts`.'), [])
})

test('the folder list of ARCHITECTURE.md must contain every service of the catalogue', () => {
  const catalogue = "import a from '../services/time-sync/index.ts'\nimport b from '../services/rules/index.ts'\n"
  const architecture = '        time-sync/        device extension tsx\n'
  assert.deepEqual(unlistedServices(architecture, catalogue), [
    'ARCHITECTURE.md: the list of folders lacks the service rules',
  ])
  assert.deepEqual(unlistedServices(`${architecture}        rules/            rules\n`, catalogue), [])
})
