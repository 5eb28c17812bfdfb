import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { afterAllTests, freshDatabase } from '../../../../test/harness/database.ts'
import { connect, type Pool } from '../../../kernel/db.ts'
import { compileRegex, RegexError } from './regex.ts'

let sql: Pool

before(async () => {
  sql = connect(await freshDatabase(), { max: 1 })
  afterAllTests(() => sql.end())
})

/** Returns which texts match in PostgreSQL, by `~` and by jsonpath. */
async function inDatabase(sqlPattern: string, texts: string[]) {
  const path = `exists($ ? (@ like_regex ${JSON.stringify(sqlPattern)} flag "s"))`
  const [row] = await sql<{ byOperator: boolean[]; byPath: boolean[] }[]>`
    select array_agg(t ~ ${sqlPattern} order by n) as by_operator,
           array_agg(jsonb_path_match(to_jsonb(t), ${path}::jsonpath) order by n) as by_path
    from unnest(${texts}::text[]) with ordinality as texts (t, n)`
  return row!
}

const cases: [pattern: string, options: string, matching: string[], others: string[]][] = [
  ['Kyiv', '', ['Kyiv', 'in Kyiv now'], ['kyiv', 'Kyi']],
  ['^Kyiv$', '', ['Kyiv'], ['Kyiv ', 'Kyiv\n', '\nKyiv']],
  ['^b$', 'm', ['a\nb', 'b\nc', 'b'], ['ab', 'a b']],
  ['київ', 'i', ['КИЇВ', 'Київ'], ['Kyiv']],
  ['straße', 'i', ['STRAßE', 'STRAẞE'], ['STRASSE']],
  ['a.c', '', ['abc', 'a😀c', 'a\rc'], ['a\nc', 'ac']],
  ['a.c', 's', ['a\nc'], ['ac']],
  ['a b # and c\n c', 'x', ['abc'], ['a b c']],
  ['\\bcat\\b', '', ['a cat.', 'cat', 'écaté'], ['cats', 'a_cat', 'cat1']],
  ['\\Bcat', '', ['scat'], ['cat', ' cat']],
  ['^\\d{2,3}$', '', ['12', '123'], ['1', '1234', '１２']],
  ['^[\\w.-]+$', '', ['a-b.c_1'], ['a b', 'é', '']],
  ['^[^a-c]$', '', ['d', '\n', '😀'], ['a', 'dd']],
  ['^[]a-]+$', '', [']a-'], ['b']],
  ['^[[:alpha:]]+[[:^digit:]]$', '', ['abc', 'ab!'], ['ab1']],
  ['\\s', '', [' ', '\v', '\t'], ['\u00a0', 'x']],
  ['^\\W$', 'i', ['\u212a', ' '], ['k', 'K']],
  ['^k$', 'i', ['k', 'K', '\u212a'], ['j']],
  ['(?i)a(?-i:b)', '', ['Ab', 'ab'], ['AB']],
  ['(a|(?i)b)c', '', ['ac', 'Bc', 'bc'], ['Ac', 'bC']],
  ['^(?:a|)$', '', ['', 'a'], ['b']],
  ['^(?<year>\\d{4})-(?P<month>\\d\\d)$', '', ['2026-01'], ['26-01']],
  ['^a{,2}$', '', ['a{,2}'], ['a', 'aa']],
  ['^x{0}y*?$', '', ['', 'yy'], ['x']],
  ['\\x41\\x{1F600}', '', ['A😀'], ['A']],
  ['\\.\\*\\[\\^\\/\\-', '', ['.*[^/-'], ['a']],
  ['^\\A(?:^|a)*\\z$', '', ['', 'aa'], ['b']],
  ['^*a(?:$)+', '', ['ba'], ['ab']],
  ['', '', ['', 'anything'], []],
]

for (const [pattern, options, matching, others] of cases)
  test(`/${pattern.replaceAll('\n', '\\n')}/${options} matches the same in memory and in the database`, async () => {
    const regex = compileRegex(pattern, options)
    const texts = [...matching, ...others]
    const expected = texts.map((_, index) => index < matching.length)
    assert.deepEqual(texts.map(regex.test), expected)
    assert.deepEqual({ ...(await inDatabase(regex.sqlPattern, texts)) }, { byOperator: expected, byPath: expected })
  })

const invalidPatterns: [pattern: string, options: string, problem: RegExp][] = [
  ['(', '', /not closed/],
  [')', '', /not opened/],
  ['[a', '', /bracket is not closed/],
  ['[z-a]', '', /out of order/],
  ['[\\d-z]', '', /range needs a character/],
  ['a**', '', /cannot be repeated/],
  ['*a', '', /nothing to repeat/],
  ['{2}', '', /nothing to repeat/],
  ['a{3,2}', '', /out of order/],
  ['a{256}', '', /count to 255/],
  ['a++', '', /possessive/],
  ['(?=a)', '', /lookahead/],
  ['(?<!a)', '', /lookbehind/],
  ['(?>a)', '', /atomic/],
  ['(?#note)', '', /kind of group/],
  ['(a)\\1', '', /back-references/],
  ['\\p{L}', '', /\\p is not supported/],
  ['\\Z', '', /\\Z is not supported/],
  ['a\\', '', /ends with a backslash/],
  ['[[:letter:]]', '', /no class/],
  ['[[=a=]]', '', /collating/],
  ['[^\\x00-\\x{10FFFF}]', '', /no character/],
  ['(a{100}){100}', '', /too complex/],
  ['(a{26}){40}', '', /too complex/],
  ['('.repeat(30), '', /nested deeper/],
  ['a'.repeat(501), '', /500 characters/],
  ['a\0', '', /not valid text/],
  ['a', 'g', /options are i, m, s and x/],
]

for (const [pattern, options, problem] of invalidPatterns)
  test(`/${JSON.stringify(pattern.slice(0, 20))}/${options} is rejected with a message`, () => {
    assert.throws(
      () => compileRegex(pattern, options),
      (error) => error instanceof RegexError && problem.test(error.message),
    )
  })

test('the largest accepted pattern is fast in memory and in the database', async () => {
  const regex = compileRegex('^(?:(?:[a-y\\W]?x|\\bé){1,20}){1,4}$', 'im')
  const text = 'aX'.repeat(5000) + '!'
  const started = performance.now()
  regex.test(text)
  assert.ok(performance.now() - started < 1000)
  await inDatabase(regex.sqlPattern, [text])
})

const character = fc.constantFrom('a', 'b', 'B', 'k', '1', '_', ' ', '-', '\\.', 'é', '😀', '\\n', '\\u212a')
const set = fc.oneof(
  character,
  fc.constantFrom('.', '\\d', '\\D', '\\w', '\\W', '[ab]', '[^ab]', '[a-k]', '[^\\W1]', '[\\s_É]', '[^\\n😀]', '[K-]'),
)
const anchor = fc.constantFrom('^', '$', '\\b', '\\B')
const times = fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?', '{0}')

const { tree: randomPattern } = fc.letrec<{ tree: string; part: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('part'),
    fc.tuple(tie('part'), tie('tree')).map((parts) => parts.join('')),
    fc.tuple(tie('part'), tie('tree')).map((parts) => parts.join('|')),
  ),
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    set,
    set,
    anchor,
    fc.tuple(set, times).map((parts) => parts.join('')),
    tie('tree').map((inner) => `(?:${inner})`),
    fc.tuple(tie('tree'), times).map(([inner, repeat]) => `(${inner}|a)${repeat}`),
    fc.tuple(tie('tree'), times).map(([inner, repeat]) => `(?:${inner})${repeat}`),
  ),
}))
const randomText = fc
  .array(fc.constantFrom('a', 'b', 'A', 'k', 'K', '1', '_', ' ', '-', '.', 'é', 'É', '😀', '\n'), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''))

test('RE2, PostgreSQL and JavaScript agree on random patterns', async (t) => {
  const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  await fc.assert(
    fc.asyncProperty(
      randomPattern,
      fc.subarray(['i', 'm', 's']).map((options) => options.join('')),
      fc.array(randomText, { minLength: 20, maxLength: 20 }),
      async (pattern, options, texts) => {
        const ours = pattern.replaceAll('\\u212a', '\\x{212a}')
        const regex = compileRegex(ours, options)
        const expected = texts.map(regex.test)
        // V8 finds \B inside a surrogate pair, so texts with such a pair are not compared with V8.
        for (const [index, text] of texts.entries())
          if (!text.includes('😀'))
            assert.equal(expected[index], new RegExp(pattern, `${options}u`).test(text), `in memory: ${text}`)
        const { byOperator, byPath } = await inDatabase(regex.sqlPattern, texts)
        assert.deepEqual(byOperator, expected, 'operator ~')
        assert.deepEqual(byPath, expected, 'like_regex')
      },
    ),
    { numRuns: Number(process.env.TEST_RUNS ?? 250), seed },
  )
})
