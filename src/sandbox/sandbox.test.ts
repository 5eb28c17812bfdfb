import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { CallRejected, type HostCall } from './job.ts'
import type { Limits } from './limits.ts'
import { type Failure, failureText, type Success } from './outcome.ts'
import { createSandbox, type RunRequest } from './sandbox.ts'

const errors: unknown[] = []
const sandbox = createSandbox({
  worlds: { calling: `(input, call) => ({ ...input, call, twice: (value) => call('double', value) })` },
  onError: (error) => errors.push(error),
})
afterAllTests(() => sandbox.stop())

type Options = Partial<RunRequest> & { entry?: string }
const run = (script: string, options: Options = {}) =>
  sandbox.run({ tenantId: 'acme', input: '{"a":{"b":[1,2]},"data":{}}', script, ...options })

async function succeed(script: string, options: Options = {}): Promise<Success> {
  const outcome = await run(script, options)
  assert.ok(outcome.ok, `${script} → ${JSON.stringify(outcome)}`)
  return outcome
}

async function fail(script: string, options: Options = {}): Promise<Failure> {
  const outcome = await run(script, options)
  assert.ok(!outcome.ok, `${script} → ${JSON.stringify(outcome)}`)
  return outcome
}

test('a script sees the context and returns JSON', async () => {
  const cases: [script: string, json: string][] = [
    ['return ctx.a.b', '[1,2]'],
    ['return ctx.a.b.at(-1) + 1', '3'],
    ['const { a: { b: [x, y = 5] }, none = [] } = ctx; return [x, y, ...none]', '[1,2]'],
    ['return ctx.x?.y ?? `none`', '"none"'],
    ['return', 'null'],
    ['', 'null'],
    ['return null', 'null'],
    ['return new Date(0)', '"1970-01-01T00:00:00.000Z"'],
    ['return { skipped: undefined, kept: null, f() {} }', '{"kept":null}'],
    ['return "äöü € 🙂"', '"äöü € 🙂"'],
    ['return 12345678901234567890', '12345678901234567000'],
    ['return atob(btoa("x"))', '"x"'],
    ['return new Date(2026, 0, 1, 12).toISOString()', '"2026-01-01T12:00:00.000Z"'],
  ]
  for (const [script, json] of cases) assert.equal((await succeed(script)).json, json, script)
})

test('random numbers differ between runs, and the clock shows the current time', async () => {
  const [first, second] = await Promise.all([succeed('return Math.random()'), succeed('return Math.random()')])
  assert.notEqual(first.json, second.json)
  const clock = Number((await succeed('return Date.now()')).json)
  assert.ok(Math.abs(clock - Date.now()) < 60_000)
})

test('an outcome says if a further run may have another outcome, because of the clock, random numbers or host functions', async () => {
  const varies = async (script: string, options: Options = {}) => (await run(script, options)).varies ?? false
  const same = ['return ctx.a', 'console.log(1); return [1, 2].map(String)', 'return new Date(2026, 0, 1)', 'return x']
  // Repeated scripts use their compiled form.
  for (let round = 0; round < 3; round++) {
    for (const script of same) assert.equal(await varies(script), false, script)
    for (const script of ['return Date.now()', 'return String(new Date())', 'Math.random()', 'Date(); return x'])
      assert.equal(await varies(script), true, script)
  }
  const calling: Options = { world: 'calling', limits: { calls: { double: 9 } }, call: async () => 1 }
  assert.deepEqual([await varies('return 1', calling), await varies('return ctx.twice(1)', calling)], [false, true])
})

test('a run does not see global values that an earlier run has set', async () => {
  await succeed(
    'globalThis.left = 1; Array.prototype.left = 2; JSON.parse = null; ctx.a = 5; Math.max = null; return 1',
  )
  const { json } = await succeed('return [typeof left, [].left, ctx.a.b.length, Math.max(1, 2)]')
  assert.equal(json, '["undefined",null,2,2]')
})

test('each run of a repeated script starts with fresh global objects, for each tenant, context and entry function', async () => {
  const script = `
    globalThis.runs = (globalThis.runs ?? 0) + 1
    const pattern = /a/g
    pattern.test('aa')
    const tag = (strings) => { strings.raw; return Object.isFrozen(strings) }
    const table = new Array(3000).fill(0)
    Array.prototype.left = (Array.prototype.left ?? 0) + 1
    ctx.a.b.push(3)
    const other = () => globalThis.runs
    return [runs, pattern.lastIndex, tag\`x\`, table.length, [].left, ctx.a.b.length, other(), ctx.n]`
  const expected = (n: number) => JSON.stringify([1, 1, true, 3000, 1, 3, 1, n])
  for (let n = 0; n < 12; n++) {
    const input = JSON.stringify({ a: { b: [1, 2] }, n, padding: 'x'.repeat(n * 3000) })
    const tenantId = n % 4 === 3 ? 'other' : 'acme'
    assert.equal((await succeed(script, { input, tenantId })).json, expected(n), `run ${n}`)
    // Other scripts write into free memory. The next run must not see what they have written.
    await succeed('const rest = []; for (let i = 0; i < 9000; i++) rest.push({ i }); return rest.length')
    const declared = 'function one() { return 1 } function two() { return 2 }'
    assert.equal((await succeed(declared, { entry: n % 2 ? 'one' : 'two' })).json, n % 2 ? '1' : '2')
    assert.equal((await fail('return (')).reason, 'SYNTAX')
    assert.equal((await fail('throw new Error("no")')).line, 1)
  }
})

test('several scripts run with the same context, and no script sees the changes of another script', async () => {
  const scripts = [
    'ctx.a.b.push(3); globalThis.x = 1; return ctx.a.b',
    'return [ctx.a.b, typeof x]',
    'return ctx.',
    'return ctx.a',
  ]
  const outcomes = await Promise.all(
    sandbox.runAll({ tenantId: 'acme', input: '{"a":{"b":[1,2]}}', scripts: scripts.map((text) => ({ text })) }),
  )
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.ok ? outcome.json : outcome.reason)),
    ['[1,2,3]', '[[1,2],"undefined"]', 'SYNTAX', '{"b":[1,2]}'],
  )
  assert.deepEqual(sandbox.runAll({ tenantId: 'acme', input: '{}', scripts: [] }), [])
})

test('a large context is parsed once for several scripts, and later runs do not see this context', async () => {
  const input = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, text: `entry ${index}` })))
  const scripts = Array.from({ length: 5 }, (_, index) => ({
    text: `ctx.push(1); return [ctx.length, ctx[${index}].index]`,
  }))
  const outcomes = await Promise.all(sandbox.runAll({ tenantId: 'acme', input, scripts }))
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.ok ? outcome.json : outcome.message)),
    [0, 1, 2, 3, 4].map((index) => `[20001,${index}]`),
  )
  assert.equal((await succeed('return ctx.a.b.length')).json, '2')
})

test('an error names line and column in the text of the script', async () => {
  const cases: [script: string, text: RegExp][] = [
    ['return ctx.x.y', /^line 1, column 8: TypeError: cannot read property 'y' of undefined$/],
    ['const a = 1\n\n  return b', /^line 3, column \d+: ReferenceError: b is not defined$/],
    ['const f = () => {\n  throw new Error("bad")\n}\nf()', /^line 2, column \d+: bad$/],
    ['return 1 +', /^line 1, column 11: /],
    ['if (1) {\nreturn 1', /^line 2, column 9: /],
    ['let y = ;', /^line 1, column 9: unexpected token/],
    ['throw "text"', /^the script threw text$/],
    ['throw { code: 5 }', /^the script threw {"code":5}$/],
    ['class Own extends Error { name = "Own" }\nthrow new Own("x")', /^line [12], column \d+: Own: x$/],
    ['JSON.parse("{")', /^line 1, column \d+: /],
  ]
  for (const [script, text] of cases) assert.match(failureText(await fail(script)), text, script)
})

test('if a result cannot be written as JSON, the failure says why', async () => {
  const cases: [script: string, message: RegExp][] = [
    ['const a = {}; a.a = a; return a', /contains itself/],
    ['return 1n', /BigInt has no JSON/],
    ['return [{ n: 1n }]', /BigInt has no JSON/],
    ['return Promise.resolve()', /promise has no JSON; calls are synchronous/],
    ['return { a: (async () => 1)() }', /promise has no JSON/],
    ['return () => 1', /function has no JSON/],
    ['return Symbol.iterator', /symbol has no JSON/],
    ['return "x".repeat(1024 * 1024)', /more than 1048576 bytes/],
    ['return "€".repeat(400000)', /more than 1048576 bytes/],
  ]
  for (const [script, message] of cases) {
    const failure = await fail(script)
    assert.equal(failure.reason, 'RESULT', script)
    assert.match(failure.message, message, script)
  }
})

test('members of the context can be returned for the next script', async () => {
  const { kept } = await succeed('ctx.data.seen = [1]; ctx.data.at = new Date(0); return true', {
    keep: ['data', 'none'],
  })
  assert.deepEqual(kept, { data: '{"seen":[1],"at":"1970-01-01T00:00:00.000Z"}', none: 'null' })
  const failure = await fail('ctx.data.self = ctx.data', { keep: ['data'] })
  assert.deepEqual(
    [failure.reason, failure.message],
    ['RESULT', 'ctx.data: an object that contains itself has no JSON'],
  )
  assert.match(
    (await fail('Object.defineProperty(ctx, "data", { get() { throw new Error("no") } })', { keep: ['data'] })).message,
    /ctx.data: no/,
  )
})

test('a request can run a second script after the first script, with fresh global objects, unless a result or a host call prevents it', async () => {
  const input = '{"a":1,"data":{"n":1}}'
  const then = async (script: string, second: string, options: Options = {}) => {
    const { first, next } = sandbox.runThen({
      tenantId: 'acme',
      input,
      keep: ['data'],
      script,
      ...options,
      next: { script: second, unless: ['null', 'false'], member: 'data', valueAt: input.indexOf('{"n"') },
    })
    const [one, two] = [await first, await next]
    return [
      one.ok ? one.json : one.reason,
      typeof two === 'string' ? two : two.ok ? [two.json, two.kept.data] : two.reason,
    ]
  }
  const leave = 'globalThis.left = 1; ctx.left = 1; ctx.data.n++; ctx.data.text = "}"; return true'
  const read = 'ctx.data.n++; return [typeof left, ctx.left, ctx.a, ctx.data.n, ctx.data.text]'
  // The third run uses compiled scripts.
  for (let round = 0; round < 3; round++)
    assert.deepEqual(await then(leave, read), ['true', ['["undefined",null,1,3,"}"]', '{"n":3,"text":"}"}']])
  assert.deepEqual(await then('return false', read), ['false', 'NOT_RUN'])
  assert.deepEqual(await then('return null', read), ['null', 'NOT_RUN'])
  assert.deepEqual(await then('return x', read), ['ERROR', 'NOT_RUN'])
  assert.deepEqual(await then('return 0', 'return x'), ['0', 'ERROR'])
  assert.deepEqual(await then('return 0', 'return ('), ['0', 'SYNTAX'])
  for (const statement of ['delete ctx.data', 'ctx.data = undefined'])
    assert.deepEqual(await then(`${statement}; return 1`, 'return 2'), ['1', ['2', 'null']])
  const calling: Options = {
    world: 'calling',
    limits: { calls: { double: 9 } },
    call: async (_, [value]) => Number(value) * 2,
  }
  assert.deepEqual(await then('return ctx.twice(2)', 'return ctx.data.n', calling), ['4', ['1', '{"n":1}']])
  assert.deepEqual(await then('return 1', 'try { return ctx.twice(2) } catch { return 0 }', calling), [
    '1',
    'NEEDS_CALLS',
  ])
  // If the first script is slow, scripts of other requests may run next. The second script may then not run.
  const slow = await then('const end = Date.now() + 200; while (Date.now() < end); return 7', 'return 8')
  assert.ok(slow[0] === '7' && (slow[1] === 'NOT_RUN' || slow[1]?.[0] === '8'), JSON.stringify(slow))
})

test('the lines of console.log are returned up to their limits, even if the script fails', async () => {
  const { log } = await succeed(
    'console.log("a", 1, { b: [2] }, null, undefined, new Error("x")); console.warn(1n); return 1',
  )
  assert.deepEqual(log, ['a 1 {"b":[2]} null undefined Error: x', '1'])
  const failure = await fail('console.log("before"); throw 1')
  assert.deepEqual(failure.log, ['before'])
  const many = await succeed('for (let i = 0; i < 2000; i++) console.log(i)')
  assert.equal(many.log.length, 1001)
  assert.equal(many.log.at(-1), 'console.log: further lines were left out')
  const long = await succeed('for (let i = 0; i < 3; i++) console.log("€".repeat(15000))')
  assert.deepEqual(
    long.log.map(({ length }) => length),
    [15000, 40],
  )
  const stopped = await fail('console.log("x"); for (;;);', { limits: { steps: 100_000 } })
  assert.deepEqual(stopped.log, ['x'])
})

const double: HostCall = async (_name, [value]) => (value as number) * 2
const calls: Partial<Limits> = { calls: { double: 3 } }

test('a script calls host functions synchronously', async () => {
  const script = 'const a = ctx.twice(2); const b = ctx.twice(a); return [a, b]'
  assert.equal((await succeed(script, { world: 'calling', call: double, limits: calls })).json, '[4,8]')
})

test('the number and the size of host calls are limited', async () => {
  const options = { world: 'calling', call: double, limits: calls }
  const failure = await fail('for (let i = 0; i < 3; i++) ctx.twice(i)\nctx.twice(4)', options)
  assert.match(failureText(failure), /^line 2, column \d+: more than 3 calls of double$/)
  assert.match(
    (await fail('ctx.twice("x".repeat(2 ** 20))', options)).message,
    /arguments of double have more than 1048576 bytes/,
  )
  assert.match((await fail('ctx.call("other")', options)).message, /no host function other/)
  assert.match((await fail('ctx.call("constructor")', options)).message, /no host function constructor/)
  assert.match(
    (await fail('ctx.twice(1)', { ...options, call: undefined as never })).message,
    /no host function double/,
  )
  const large: HostCall = async () => 'x'.repeat(2 ** 20)
  assert.match(
    (await fail('ctx.twice(1)', { ...options, call: large })).message,
    /result of double has more than 1048576 bytes/,
  )
})

test('a script sees the message of CallRejected, but of no other error of a host call; other errors are reported', async () => {
  const refuse: HostCall = async () => {
    throw new CallRejected('the address is private')
  }
  const options = { world: 'calling', limits: calls }
  assert.match(
    failureText(await fail('ctx.twice(1)', { ...options, call: refuse })),
    /^line 1, column \d+: the address is private$/,
  )
  assert.equal(
    (await succeed('try { ctx.twice(1) } catch (e) { return e.message }', { ...options, call: refuse })).json,
    '"the address is private"',
  )
  errors.length = 0
  const broken: HostCall = () => Promise.reject(new Error('password of the database'))
  assert.equal((await fail('ctx.twice(1)', { ...options, call: broken })).message, 'double failed')
  assert.match(String(errors[0]), /password of the database/)
  const cyclic: HostCall = async () => globalThis
  assert.equal((await fail('ctx.twice(1)', { ...options, call: cyclic })).message, 'double failed')
})

test('a host call that never ends is aborted at the time limit, and the script cannot catch this error', async () => {
  let aborted = false
  const never: HostCall = (_name, _args, signal) =>
    new Promise(() => signal.addEventListener('abort', () => (aborted = true), { once: true }))
  const failure = await fail('try { ctx.twice(1) } catch {} finally { return 1 }', {
    world: 'calling',
    call: never,
    limits: { ...calls, timeMs: 200 },
  })
  assert.deepEqual([failure.reason, failure.message], ['TIMEOUT', 'the script ran for more than 0.2 seconds'])
  assert.equal(aborted, true)
})

test('steps and time are limited', async () => {
  const steps = await fail('for (;;);', { limits: { steps: 100_000 } })
  assert.deepEqual([steps.reason, steps.message], ['TIMEOUT', 'the script ran for more than 100000 steps'])
  const time = await fail('for (;;);', { limits: { timeMs: 100, steps: 1e12 } })
  assert.deepEqual([time.reason, time.message], ['TIMEOUT', 'the script ran for more than 0.1 seconds'])
})

test('a declared function can be the entry of a script', async () => {
  const script = 'function decodeUplink({ bytes }) {\n  return { data: { first: bytes[0] } }\n}'
  const options = { input: '{"bytes":[7],"fPort":1}', entry: 'decodeUplink' }
  assert.equal((await succeed(script, options)).json, '{"data":{"first":7}}')
  assert.equal((await succeed(`${script} // comment`, options)).json, '{"data":{"first":7}}')
  assert.equal(failureText(await fail('const other = 1', options)), 'ReferenceError: decodeUplink is not defined')
  assert.throws(() => run(script, { entry: 'a(); b' }), /not the name of a function/)
})

test('a context that is not JSON and texts that are too long are failures', async () => {
  const input = await fail('return 1', { input: '{"a":' })
  assert.equal(input.reason, 'INPUT')
  assert.match(input.message, /^the context cannot be read: /)
  assert.equal((await fail('return 1', { input: `"${'x'.repeat(9 * 2 ** 20)}"` })).reason, 'INPUT')
  assert.equal((await fail(`return 1 // ${'x'.repeat(65_536)}`)).reason, 'SYNTAX')
  assert.throws(() => run('return 1', { world: 'none' }), /no world none/)
})

test('a check parses a script with the engine of the sandbox, and does not run the script', async () => {
  const check = (script: string) => sandbox.check({ tenantId: 'acme', script })
  assert.deepEqual(await check('return 1'), { ok: true, hasOwnReturn: true })
  assert.deepEqual(await check('for (;;) throw 1'), { ok: true, hasOwnReturn: false })
  const bad = await check('const a = 1\nreturn a b')
  assert.ok(!bad.ok)
  assert.deepEqual([bad.reason, bad.line, bad.column], ['SYNTAX', 2, 10])
  assert.equal((await check('x'.repeat(65_537))).ok, false)
  assert.equal((await check('('.repeat(30_000))).ok, false)
})

test('a check takes the time of a thread of the sandbox, not of the main thread', async () => {
  const script = `return [${'0,'.repeat(32_000)}]`
  const check = () => sandbox.check({ tenantId: 'acme', script })
  await check()
  const [all, main] = [process.cpuUsage(), process.threadCpuUsage()]
  for (let times = 0; times < 4; times++) assert.deepEqual(await check(), { ok: true, hasOwnReturn: true })
  const share = process.threadCpuUsage(main).user / process.cpuUsage(all).user
  assert.ok(share < 0.3, `the main thread took ${share} of the processor time`)
})
