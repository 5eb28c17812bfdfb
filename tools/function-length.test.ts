import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { functionLinesMax, lengthProblems, longFunctions } from './function-length.ts'

const body = (lines: number, indent = '  ') => `${indent}call()\n`.repeat(lines)
const inside = functionLinesMax - 2

suite('the length of functions', () => {
  const forms: [name: string, open: string, close: string][] = [
    ['a function', 'export async function create(kit: Kit): Promise<void> {', '}'],
    ['a function with a signature of several lines', 'function create(\n  kit: Kit,\n): Service {', '}'],
    ['a generator', 'export function* rows() {', '}'],
    ['an arrow function', 'const create = (kit: Kit) => {', '}'],
    ['an arrow function that returns an object', 'export const create = (kit: Kit): Service => ({', '})'],
    ['an arrow function without braces', 'const create = (kit: Kit) =>', ''],
    ['a test', "test('something happens', async () => {", '})'],
    ['a type guard', 'function isService(value: unknown): value is Service {', '}'],
  ]
  for (const [name, open, close] of forms)
    test(`the length of functions counts ${name}`, () => {
      // An arrow function without braces has no closing line, so its body may have one more line.
      const most = close === '' ? inside + 1 : inside
      assert.deepEqual(longFunctions(`${open}\n${body(most)}${close}\n`), [])
      const [found] = longFunctions(`${open}\n${body(most + 1)}${close}\n`)
      assert.equal(found?.lines, functionLinesMax + 1)
      assert.equal(found.line, open.split('\n').length)
    })

  test('the length of functions counts a method inside of an object, with blank lines', () => {
    const text = `export const service = {\n  async run() {\n${body(60, '    ')}\n${body(60, '    ')}  },\n}\n`
    assert.deepEqual(longFunctions(text), [{ line: 2, lines: 123 }])
  })

  test('objects, arrays, types, classes, suites and comments are not counted as functions', () => {
    const members = '  name: string\n'.repeat(200)
    for (const open of ['const table = {', 'interface Service {', 'const list = [', "suite('notes', () => {"])
      assert.deepEqual(longFunctions(`${open}\n${members}}\n`), [], open)
    assert.deepEqual(longFunctions(`/**\n * when called () => {\n${' * text\n'.repeat(200)} */\n`), [])
  })

  test('the length of functions names the file and the line', () => {
    const text = `\nfunction create() {\n${body(200)}}\n`
    assert.deepEqual(lengthProblems('src/a.ts', text), ['src/a.ts:2: a function has 202 lines; the maximum is 100'])
    assert.deepEqual(lengthProblems('src/a.ts', 'function create() {}\n'), [])
  })
})
