import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseScript } from './parse.ts'

test('a text counts as a script if it parses as a function body with a `return` outside of inner functions', () => {
  for (const text of [
    'return 1',
    'return',
    'if (ctx.a) { return 1 } else return 2',
    'for (const x of y) { try { return x } finally {} }',
    'switch (1) { default: return 1 }',
    'a: { return }',
    'const f = () => { return 1 }; return f()',
    '// return\nreturn 1',
    'return [() => { return 1 }]',
  ])
    assert.deepEqual(parseScript(text), { ok: true, hasOwnReturn: true }, text)
})

test('a text whose only `return` is in an inner function, a comment or a string does not count as a script', () => {
  for (const text of [
    '',
    '"return"',
    '// return 1',
    '/* return 1 */',
    'const f = () => { return 1 }',
    'function f() { return 1 }',
    'class A { m() { return 1 } get x() { return 1 } static { const a = 1 } }',
    '({ m() { return 1 } })',
    '`return`',
    '/return/',
    'x.return',
    '[function () { return 1 }]',
  ])
    assert.deepEqual(parseScript(text), { ok: true, hasOwnReturn: false }, text)
})

test('a text that does not parse has a message with line and column', () => {
  const cases: [text: string, line: number, column: number][] = [
    ['Please return the key', 1, 8],
    ['return {', 1, 9],
    ['const a = 1\n  return a b', 2, 12],
    ['return 1 }', 1, 10],
    ['}); (function () {', 1, 1],
    ['await 1', 1, 7],
    ['import fs from "fs"; return fs', 1, 1],
    ['return import.meta', 1, 8],
    ['#!/bin/sh\nreturn 1', 1, 2],
    ['https://example.com/return', 1, 27],
    ['return "a', 1, 8],
    ['return /[/', 1, 9],
    ['let a; let a; return a', 1, 12],
  ]
  for (const [text, line, column] of cases) {
    const parsed = parseScript(text)
    assert.ok(!parsed.ok, text)
    assert.equal(parsed.reason, 'SYNTAX')
    assert.deepEqual([parsed.line, parsed.column], [line, column], `${text}: ${JSON.stringify(parsed)}`)
    assert.doesNotMatch(parsed.message, /\(\d+:\d+\)/)
  }
})

test('a deeply nested script is either accepted or rejected with the reason SYNTAX', () => {
  for (const [open, close] of [
    ['(', ')'],
    ['[', ']'],
    ['{', '}'],
    ['a=>', '1'],
    ['!', '1'],
    ['`${', '}`'],
    ['if(1)', ';'],
    ['/(', ')/'],
    ['a?', ':1'],
  ]) {
    const parsed = parseScript(`return ${open!.repeat(16_000)}1${close!.repeat(16_000)}`)
    if (!parsed.ok) assert.equal(parsed.reason, 'SYNTAX')
  }
})
