/**
 * Replays the public cases of Painless: scripts with the value that they return, and scripts that must fail. The cases are not part of the
 * repository. TEST_PAINLESS_CASES names the folder of the cases. Without this variable, the test is skipped.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { ScriptError } from './errors.ts'
import { startMeter } from './meter.ts'
import { compileScript } from './script.ts'
import { textOf } from './text.ts'
import { javaClassOf } from './values.ts'

type Expected =
  /** `v` is the literal as it is written in the file, because 3 and 3.0 have different types. */
  | { t: 'num'; v: string; suffix: '' | 'd' | 'f' | 'l'; cast: string | null }
  | { t: 'bool'; v: boolean }
  | { t: 'str'; v: string }
  | { t: 'char'; v: string }
  | { t: 'null' }

interface Case {
  file: string
  line: number
  source: string
}

const folder = process.env.TEST_PAINLESS_CASES ?? ''
const skip = folder === '' && 'TEST_PAINLESS_CASES does not name the folder of the public cases'
const casts: Record<string, string> = {
  byte: 'Byte',
  short: 'Short',
  char: 'Character',
  int: 'Integer',
  long: 'Long',
  float: 'Float',
  double: 'Double',
}
const suffixes: Record<string, string> = { d: 'Double', f: 'Float', l: 'Long' }
/**
 * For each tier, the percentage of cases that must pass. A: plain semantics; B: numeric types and casts; C: lambdas, regular expressions,
 * streams, dates.
 */
const tiers = { A: 100, B: 90, C: 60 }
const failuresRequired = 90

const read = (name: string): unknown[] =>
  JSON.parse(readFileSync(resolve(folder, name), 'utf8'), (_key, value, context?: { source?: string }) =>
    typeof value === 'number' ? context!.source : value,
  )

function run(source: string): unknown {
  const script = compileScript(source, { variables: [['params', 'Map']], regexEnabled: true })
  startMeter()
  return script.run(new Map())
}

/** Returns what is wrong with the result of a script. Returns undefined if the text and the class of the result are right. */
function mistake({ source }: Case, expected: Expected): string | undefined {
  try {
    const result = run(source)
    if (expected.t === 'null') return result === null ? undefined : `${textOf(result)} instead of null`
    if (isNaNAssertion(result, expected)) return undefined
    const found = `${javaClassOf(result).replace(/^.*\./, '')} ${textOf(result)}`
    const wanted = textOfExpected(expected)
    return found === wanted ? undefined : `${found} instead of ${wanted}`
  } catch (error) {
    assert.ok(error instanceof ScriptError, `${source}: ${(error as Error).stack}`)
    return error.message
  }
}

/** The original tests of these scripts assert `Double.isNaN(result)`. The file contains the `true` of this assertion. */
const isNaNAssertion = (result: unknown, expected: Expected) =>
  expected.t === 'bool' && expected.v && textOf(result) === 'NaN'

function textOfExpected(expected: Exclude<Expected, { t: 'null' }>): string {
  if (expected.t === 'bool') return `Boolean ${expected.v}`
  if (expected.t !== 'num') return `${expected.t === 'str' ? 'String' : 'Character'} ${expected.v}`
  const { v, suffix, cast } = expected
  const literalClass = suffix === '' ? (/[.eE]/.test(v) ? 'Double' : 'Integer') : suffixes[suffix]
  const javaClass = cast === null ? literalClass : casts[cast]
  if (javaClass === 'Character') return `Character ${String.fromCharCode(Number(v))}`
  if (javaClass === 'Double') return `Double ${textOf(run(`return (double)${v}D`))}`
  if (javaClass === 'Float') return `Float ${textOf(run(`return (float)${v}F`))}`
  // The original tests write `(byte)255`, which is -1.
  const bits = javaClass === 'Byte' ? 8 : javaClass === 'Short' ? 16 : 64
  return `${javaClass} ${BigInt.asIntN(bits, BigInt(v))}`
}

const listOf = (mistakes: string[]) => `\n${mistakes.join('\n')}`

for (const [tier, required] of Object.entries(tiers))
  test(`at least ${required} % of the public cases of tier ${tier} return the documented value and class`, {
    skip,
  }, (t) => {
    const cases = (read('painless-values.json') as (Case & { tier: string; expected: Expected })[]).filter(
      (one) => one.tier === tier,
    )
    const mistakes = cases.flatMap((one) => {
      const reason = mistake(one, one.expected)
      return reason === undefined ? [] : [`${one.file}:${one.line} ${one.source}: ${reason}`]
    })
    const percentage = 100 - (100 * mistakes.length) / cases.length
    t.diagnostic(`tier ${tier}: ${cases.length - mistakes.length} of ${cases.length} cases, ${percentage.toFixed(1)} %`)
    assert.ok(cases.length > 100 && percentage >= required, listOf(mistakes))
  })

test(`at least ${failuresRequired} % of the public cases that must fail do so`, { skip }, (t) => {
  const cases = read('painless-throws.json') as (Case & { throws: string })[]
  const unexpected: string[] = []
  let sameClass = 0
  for (const { file, line, source, throws } of cases)
    try {
      unexpected.push(`${file}:${line} ${source}: returned ${textOf(run(source))}`)
    } catch (error) {
      assert.ok(error instanceof ScriptError, `${source}: ${(error as Error).stack}`)
      if (error.javaClass.endsWith(throws)) sameClass++
    }
  const failed = cases.length - unexpected.length
  t.diagnostic(`${failed} of ${cases.length} cases fail, ${sameClass} of them with the exception of the case`)
  assert.ok(cases.length > 100 && failed >= (cases.length * failuresRequired) / 100, listOf(unexpected))
})
