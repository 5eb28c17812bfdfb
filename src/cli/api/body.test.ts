/** Tests bodies from files: JSON, YAML, and texts that are neither JSON nor YAML. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { describe } from '../../../sdk/src/descriptions.ts'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { parseDocument, readBody, readDocument } from './body.ts'
import { boundedBuffer } from './bounded-buffer.ts'
import { parseCommand } from './flags.ts'

const aFile = (content: string | Buffer) => {
  const file = join(temporaryDirectory(), 'body')
  writeFileSync(file, content)
  return file
}
const bodyOf = async (name: string, ...argv: string[]) =>
  await readBody(describe(name)!, parseCommand(describe(name)!, argv))

test('flags add fields to the body that a file contains', async () => {
  const file = aFile('username: ada\nroles: [viewer]\n')
  assert.deepEqual(await bodyOf('users.create', '-f', file, '--email', 'a@b.c'), {
    username: 'ada',
    roles: ['viewer'],
    email: 'a@b.c',
  })
  assert.deepEqual(await bodyOf('users.create', '-f', aFile('{"username": "ada"}')), { username: 'ada' })
  await assert.rejects(bodyOf('users.create', '-f', aFile('[1]'), '--email', 'a@b.c'), /expected an object/)
})

test('the error about a missing body names the required fields, and a body for an operation without a body is an error', async () => {
  await assert.rejects(bodyOf('users.create'), /users create needs a body with username/)
  await assert.rejects(bodyOf('users.get', 'x', '-f', 'y'), /takes no body/)
  assert.equal(await bodyOf('users.get', 'x'), undefined)
  await assert.rejects(bodyOf('software.file.upload', 'app', '1.0.0'), /needs --file/)
})

test('a file that cannot be read is reported', async () => {
  await assert.rejects(readDocument('/nowhere/file'), /cannot be read \(ENOENT\)/)
  await assert.rejects(readDocument('/tmp'), /is a folder, not a file/)
  await assert.rejects(readDocument(aFile(Buffer.from([0xff, 0xfe, 0x00]))), /is not text in UTF-8/)
  await assert.rejects(readDocument(aFile('')), /is empty/)
})

test('a stream that never ends is rejected and closed', async () => {
  let isClosed = false
  async function* endless() {
    try {
      for (;;) yield Buffer.alloc(1000)
    } finally {
      isClosed = true
    }
  }
  await assert.rejects(
    boundedBuffer(Readable.from(endless()), 100_000, () => new Error('too large')),
    /too large/,
  )
  assert.ok(isClosed)
})

const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...'bcdefghi'.split('').map((letter, index) => {
    const before = 'abcdefghi'[index]
    return `${letter}: &${letter} [${Array(10).fill(`*${before}`).join(',')}]`
  }),
].join('\n')
const hostile: [name: string, text: string, expected: RegExp][] = [
  ['aliases that expand to a huge value', bomb, /alias/i],
  ['a tag that is unknown', 'a: !!js/function "x"', /tag/i],
  ['two documents', 'a: 1\n---\nb: 2', /multiple documents|document/i],
  ['duplicate keys', 'a: 1\na: 2', /unique/i],
  ['half of a JSON text', '{"a": ', /./],
  ['9 MiB of YAML', `a: ${'x'.repeat(9 * 1024 * 1024)}`, /file is larger than 8 MiB/],
]
for (const [name, text, expected] of hostile)
  test(`a file with ${name} is rejected with an error of one sentence`, async () => {
    await assert.rejects(parseDocument(text, 'file'), (error: Error) => {
      assert.match(error.message, expected)
      assert.ok(!error.message.includes('\n'))
      return true
    })
  })

test('a number that would be sent with another value is rejected, in JSON as in YAML', async () => {
  for (const number of ['12345678901234567890', '-9007199254740993', '1e400'])
    for (const text of [`{"a": [${number}]}`, `a: [${number}]`])
      await assert.rejects(parseDocument(text, 'file'), /^CommandError: file: .*(too large|not a number)/, text)
  const kept = '{"a":"12345678901234567890","b":9007199254740991,"c":0.12345678901234568,"d":1e+21}'
  assert.equal(JSON.stringify(await parseDocument(kept, 'file')), kept)
})

test('a pipe such as <(command) is read like a file', async () => {
  const pipe = join(temporaryDirectory(), 'pipe')
  mkdirSync(dirname(pipe), { recursive: true })
  execFileSync('mkfifo', [pipe])
  const reading = readDocument(pipe)
  await writeFile(pipe, 'name: piped')
  assert.deepEqual(await reading, { name: 'piped' })
})

test('a key named __proto__ is data', async () => {
  const value = await parseDocument('{"__proto__": {"a": 1}}', 'file')
  assert.deepEqual(Object.keys(value as object), ['__proto__'])
})
