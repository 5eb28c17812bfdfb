import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('cells that would begin a formula are escaped, numbers stay numbers, and other texts are quoted only where needed', () => {
  const cases: [unknown, string][] = [
    ['=1+1', "'=1+1"],
    ['+49 30', "'+49 30"],
    ['-5', "'-5"],
    [-5, '-5'],
    [1e21, '1e+21'],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', '"\'\r=1"'],
    ['\n=1', '"\'\n=1"'],
    ['=HYPERLINK("http://a","b")', '"\'=HYPERLINK(""http://a"",""b"")"'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    [' a', '" a"'],
    ['', ''],
    [null, ''],
    [undefined, ''],
    [true, 'true'],
    [{ a: '=1' }, '"{""a"":""=1""}"'],
    [[1, 2], '"[1,2]"'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    ['ü — \u202e', 'ü — \u202e'],
  ]
  for (const [value, expected] of cases) assert.equal(csvLine([1, value, 'z']), `1,${expected},z\r\n`)
})
