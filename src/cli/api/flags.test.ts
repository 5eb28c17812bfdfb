/** Tests the flags of all operations, and wrong flags. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe, operationNames } from '../../../sdk/src/descriptions.ts'
import { operationOf as readFromTable } from '../../../sdk/src/operation.ts'
import { table } from '../../../sdk/src/table.ts'
import { commands } from '../commands.ts'
import { nextWords } from '../completion.ts'
import { operationOf } from './call.ts'
import { dashed } from './dashed.ts'
import { flagsOf, formats, parseCommand } from './flags.ts'
import { helpOfOperation } from './help.ts'
import { findOperation } from './names.ts'
import { nouns } from './nouns.ts'

const parse = (name: string, ...argv: string[]) => parseCommand(describe(name)!, argv)

test('every operation is found by the words of its name, and has a help text and its flags', async () => {
  assert.ok(operationNames().length > 480)
  for (const name of operationNames()) {
    const words = name.split('.').map(dashed)
    assert.deepEqual(await findOperation([...words, '--x']), { name, rest: ['--x'] })
    assert.deepEqual((await findOperation(name.split('.')))?.name, name)
    const description = describe(name)!
    const flags = flagsOf(description).map(({ flag }) => flag)
    assert.equal(new Set(flags).size, flags.length, name)
    const help = helpOfOperation(description)
    for (const flag of flags) assert.ok(help.includes(`--${flag}`), `${name} --${flag}`)
    assert.ok(nouns().includes(words[0]!))
  }
})

test('the help of an operation whose body has no known fields shows an example of the body', () => {
  assert.match(
    helpOfOperation(describe('endpoints.metadata.patch')!),
    /\n\nA body: \[\{"op":"\w+","path":"\/.*\}\]\n\n/,
  )
  assert.doesNotMatch(helpOfOperation(describe('applications.create')!), /A body:/)
})

test('a value that must be JSON is explained with the example of the field', () => {
  assert.throws(() => parse('endpoints.create', '--app-version', 'meadow-v1'), {
    message: /^--app-version: expected JSON, such as '\{"name":"[^"]+"\}', not meadow-v1$/,
    exitCode: 2,
  })
})

test('the command line and the SDK describe every operation in the same way, except for paging', () => {
  for (const name of operationNames()) {
    const { paging, ...expected } = readFromTable(table, name)!
    assert.deepEqual(operationOf(describe(name)!), { ...expected, paging: undefined }, name)
  }
})

test('the longest matching words name the operation, and arguments follow them', async () => {
  assert.deepEqual(await findOperation(['endpoints', 'metadata', 'get', 'thermo-1']), {
    name: 'endpoints.metadata.get',
    rest: ['thermo-1'],
  })
  const unknown = [
    ['endpoints', 'fly'],
    ['constructor', 'list'],
    ['../me', 'get'],
    ['../../src/errors', 'get'],
    ['.', 'get'],
    ['', 'get'],
    [],
  ]
  for (const words of unknown) assert.equal(await findOperation(words), undefined, words.join(' '))
})

test('values of flags are converted to the types of the API', () => {
  const { args, fields, flags } = parse(
    'endpoints.list',
    '--application-name=a,b',
    '--application-name',
    'c',
    '--limit=5',
    '-o',
    'csv',
  )
  assert.deepEqual(args, { applicationName: ['a', 'b', 'c'] })
  assert.deepEqual(fields, {})
  assert.deepEqual([flags.limit, flags.output], [5, 'csv'])
  const user = parse('users.create', '--username=-ada', '--enabled', '--roles', '["viewer"]')
  assert.deepEqual(user.fields, { username: '-ada', enabled: true, roles: ['viewer'] })
  assert.deepEqual(parse('users.create', '--no-enabled').fields, { enabled: false })
  assert.deepEqual(parse('users.create', '--enabled', 'false').fields, { enabled: false })
  assert.deepEqual(parse('endpoints.get', '--', '-odd').args, { endpointId: '-odd' })
})

const wrong: [argv: string[], expected: RegExp][] = [
  [['users.create', '--enabled=yes'], /--enabled: expected true or false, not yes/],
  [['users.create', '--roles', 'viewer'], /--roles: expected JSON/],
  [['users.create', '--nonsense=1'], /there is no option --nonsense; --help lists all/],
  [['endpoints.get'], /<endpoint-id> is missing/],
  [['endpoints.get', 'a', 'b'], /does not take the argument b/],
  [['endpoints.list', '-o', 'xml'], /--output: expected one of table, wide, json/],
  [['endpoints.list', '--limit', '0'], /--limit: expected a number from 1/],
  [['endpoints.list', '--limit=1e3'], /--limit: expected a number from 1/],
  [['traffic.list', '--sort-order', 'up'], /--sort-order: expected one of asc, desc, not up/],
  [['traffic.list', '--request-id', '1.5'], /--request-id: expected an integer, not 1.5/],
  [['traffic.list', '--request-id', '9007199254740993'], /--request-id: expected an integer, not 9007199254740993/],
  [['users.create', '--roles', '[12345678901234567890]'], /--roles: 12345678901234567890 is too large for a number/],
]
for (const [[name, ...argv], expected] of wrong)
  test(`the arguments ${name} ${argv.join(' ')} are an error`, () => {
    assert.throws(() => parse(name!, ...argv), expected)
  })

test('completion offers nouns, then verbs, then flags', async () => {
  assert.ok((await nextWords(commands, [])).includes('endpoints'))
  assert.ok((await nextWords(commands, [])).includes('login'))
  assert.ok((await nextWords(commands, ['endpoints'])).includes('metadata'))
  assert.deepEqual(await nextWords(commands, ['endpoints', 'metadata']), ['get', 'update', 'patch', 'values', 'keys'])
  assert.ok((await nextWords(commands, ['endpoints', 'list'])).includes('--application-name'))
  assert.ok((await nextWords(commands, ['endpoints', 'list'])).includes('--limit'))
  assert.deepEqual(await nextWords(commands, ['help', 'endpoints', 'metadata']), [
    'get',
    'update',
    'patch',
    'values',
    'keys',
  ])
})

test('completion offers the values of a flag that has fixed values, and nothing for files and free values', async () => {
  const list = ['endpoints', 'list']
  assert.deepEqual(await nextWords(commands, [...list, '-o']), [...formats])
  assert.deepEqual(await nextWords(commands, ['traffic', 'list', '--sort-order']), ['asc', 'desc'])
  for (const flag of ['--application-name', '--limit', '--columns'])
    assert.deepEqual(await nextWords(commands, [...list, flag]), [], flag)
  assert.deepEqual(await nextWords(commands, ['endpoints', 'create', '-f']), [])
})

test('completion also offers actions and flags of commands that call no API operation', async () => {
  assert.deepEqual(await nextWords(commands, ['context']), ['list', 'show', 'use', 'delete'])
  assert.deepEqual(await nextWords(commands, ['completion']), ['bash', 'zsh', 'fish'])
  assert.deepEqual(await nextWords(commands, ['tail', 'meter-1']), ['--since', '--once', '--context'])
  assert.deepEqual(await nextWords(commands, ['tail', '-o']), ['text', 'json'])
  assert.deepEqual(await nextWords(commands, ['tail', '--since']), [])
  assert.deepEqual(await nextWords(commands, ['vpn']), ['config'])
  assert.deepEqual(await nextWords(commands, ['start']), [])
  assert.ok((await nextWords(commands, ['open'])).includes('endpoints'))
  // If a noun of the API is also the name of a command, the words of both can follow it.
  for (const action of ['rotate', 'create']) assert.ok((await nextWords(commands, ['secrets'])).includes(action))
})
