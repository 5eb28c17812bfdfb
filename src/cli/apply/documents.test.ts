/** Tests documents that cannot be applied. Each document is rejected with one sentence before anything is sent. */
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { readDocuments } from './documents.ts'

function aFile(text: string | Buffer): string {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'documents.yaml')
  writeFileSync(file, text)
  return file
}

test('the documents of a folder are read in the order of its files', async () => {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, 'b'), { recursive: true })
  writeFileSync(join(folder, 'b', 'two.yml'), 'kind: application\nname: two\n')
  writeFileSync(join(folder, 'a.json'), '{"kind": "application", "name": "one"}')
  writeFileSync(join(folder, 'notes.txt'), 'not a document')
  symlinkSync('..', join(folder, 'b', 'up'))
  symlinkSync('.', join(folder, 'b', 'again'))
  const documents = await readDocuments([folder])
  assert.deepEqual(
    documents.map(({ key }) => key),
    ['one', 'two'],
  )
})

const wrong: [text: string | Buffer, expected: RegExp][] = [
  [
    'kind: spaceship\nname: x\n',
    /kind: there is no kind spaceship; the nearest is .* The kinds are role, application, /,
  ],
  ['kind: aplication\nname: x\n', /kind: there is no kind aplication; the nearest is application\./],
  ['kind: constructor\nname: x\n', /kind: there is no kind constructor/],
  ['name: x\n', /documents.yaml: the field kind is missing, such as kind: application\. The kinds are/],
  ['kind: application\n', /application: name is missing/],
  ['kind: application\nname: [1]\n', /application: name: expected text/],
  ['kind: application\nname: 007\n', /application: name: expected text; put a number into quotes/],
  ['kind: application\nname: a\ndisplayname: A\n', /application has no field displayname; the nearest is displayName/],
  ['kind: application\nname: a\n? { b: 1 }\n: c\n', /keys must be/],
  ['kind: application\nname: !!binary aGVsbG8=\n', /this tag makes a value of another kind/],
  ['kind: configuration\nversion: v\nconfig: { a: .inf }\n', /Infinity is not a number that JSON has/],
  ['kind: configuration\nversion: v\nconfig: [12345678901234567890]\n', /12345678901234567890 is too large/],
  [`kind: configuration\nversion: v\nconfig: ${'['.repeat(20_000)}`, /it is nested too deeply/],
  ['- 1\n', /expected an object with the field kind/],
  ['kind: application\nname: a\n---\nkind: application\nname: a\n', /application a is in .* and in/],
  ['a: [', /./],
  ['a: !!js/function x\n', /tag/i],
  ['', /there are no documents/],
  [Buffer.from([0xff, 0x00]), /is not text in UTF-8/],
]
for (const [text, expected] of wrong)
  test(`apply rejects ${JSON.stringify(text.toString().slice(0, 40))}`, async () => {
    await assert.rejects(readDocuments([aFile(text)]), (error: Error & { exitCode?: number }) => {
      assert.match(error.message, expected)
      assert.ok(!error.message.includes('\n'), error.message)
      assert.equal(error.exitCode, 2)
      return true
    })
  })

test('`apply` rejects a path that does not exist', async () => {
  await assert.rejects(readDocuments(['/nowhere']), /\/nowhere does not exist/)
})
