/** Checks that the runner fails, and names the file, for every way in which a test file can fail. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryDirectory } from '../test/harness/database.ts'
import { isAlive } from '../test/harness/processes.ts'
import { type Running, readRunning, startTimeOf } from '../test/harness/timings.ts'

const tests = (body: string) => `import { test } from 'node:test'\n${body}\n`

/** Broken files of each kind, with the expected output. */
const broken: Record<string, [text: string, output: RegExp]> = {
  'fails.test.ts': [
    tests("test('two is three', () => { throw new Error('not three') })"),
    /two is three[\s\S]*not three/,
  ],
  'crashes.test.ts': [tests("test('dies', () => process.kill(process.pid, 'SIGKILL'))"), /Not finished: .*crashes/],
  'throws-later.test.ts': [
    tests("test('throws later', () => { setTimeout(() => { throw new Error('an error without a handler') }) })"),
    /an error without a handler/,
  ],
  'rejects.test.ts': [
    tests(`import { setImmediate } from 'node:timers/promises'
test('rejects a promise without a handler', async () => {
  await setImmediate()
  void Promise.reject(new Error('a promise without a handler'))
  await setImmediate()
})`),
    /✖ rejects a promise without a handler[\s\S]*Error: a promise without a handler/,
  ],
  'exits.test.ts': [tests("test('exits', () => process.exit(0))"), /Not finished: .*exits/],
  'unreadable.test.ts': ['const = 3\n', /unreadable\.test\.ts/],
  'loads-for-ever.test.ts': [
    'setInterval(() => {}, 1000)\nawait new Promise(() => {})\n',
    /Killed after 8 s: .*loads-for-ever/,
  ],
  'blocks.test.ts': [
    tests(`import { spawn } from 'node:child_process'
test('blocks', () => {
  console.log('started ' + spawn('sleep', ['600']).pid)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})`),
    /(?=[\s\S]*started \d+)(?=[\s\S]*Killed after 8 s: .*blocks)/,
  ],
  'waits.test.ts': [
    tests("test('waits', () => new Promise((done) => setTimeout(done, 60_000)))"),
    /waits[\s\S]*timed out/,
  ],
}

const good: Record<string, string> = {
  'fails-once.test.ts': tests(`import { mkdirSync } from 'node:fs'
// The second run finds the directory.
test('fails once', () => { if (mkdirSync(import.meta.filename + '.seen', { recursive: true })) throw new Error('first') })`),
  'takes-a-second.test.ts': tests("test('takes a second', () => new Promise((done) => setTimeout(done, 1000)))"),
}

/** Runs the files in a separate runner, whose processes do not belong to this run. */
async function runFiles(names: string[], alone: boolean, left: Running[] = []) {
  const directory = temporaryDirectory()
  const shared = join(directory, 'shared')
  mkdirSync(join(shared, 'running'), { recursive: true })
  for (const entry of left) writeFileSync(join(shared, 'running', `${entry.pid}.json`), JSON.stringify(entry))
  const files = names.map((name) => join(directory, name))
  for (const [n, name] of names.entries())
    writeFileSync(files[n]!, good[name] ?? broken[name]?.[0] ?? tests("test('all is well', () => {})"))
  const runner = pathToFileURL(resolve(import.meta.dirname, 'run-tests.ts')).href
  const script = join(directory, 'run.mjs')
  const options = { files, directory: shared, fileSecondsMax: 8, testSecondsMax: 2 }
  writeFileSync(
    script,
    `import { runTests } from '${runner}'
const { failed, unfinished, unstable } = await runTests({ ...${JSON.stringify(options)}, alone: () => ${alone}, seconds: () => 1 })
for (const file of unfinished) console.log('Not finished: ' + file)
for (const file of unstable) console.log('Unstable: ' + file)
process.exit(failed || unfinished.length > 0 ? 1 : 0)`,
  )
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, [script], { env })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const code = await new Promise<number | null>((done) => child.on('close', done))
  return { code, output, overdue: readRunning(shared) }
}

const hasProc = startTimeOf(process.pid) !== undefined
const kinds = Object.keys(broken)

describe('a run of tests', { concurrency: true }, () => {
  for (const [where, alone, names] of [
    ['in processes of their own', true, kinds],
    ['in shared processes', false, ['fails.test.ts', 'rejects.test.ts', 'unreadable.test.ts', 'waits.test.ts']],
    ['that end or block two shared processes', false, ['exits.test.ts', 'blocks.test.ts']],
  ] as [string, boolean, string[]][])
    test(`a run of tests names broken files ${where}`, async () => {
      const { code, output } = await runFiles([...names, 'good.test.ts'], alone)
      assert.equal(code, 1, output)
      for (const name of names) assert.match(output, broken[name]![1], name)
      for (const [, pid] of output.matchAll(/started (\d+)/g))
        assert.ok(!isAlive(Number(pid)), 'programs that a killed test file started must also be killed')
      assert.match(output, /all is well|Not finished: .*good/)
    })

  test('a run of tests fails for a single file', async () => {
    for (const name of ['fails.test.ts', 'exits.test.ts'])
      assert.equal((await runFiles([name, 'good.test.ts'], true)).code, 1, name)
  })

  test('a run of tests does not kill another process that has the pid of a test process that died', {
    skip: !hasProc,
  }, async () => {
    const other = spawn('sleep', ['600'])
    try {
      const died = { pid: other.pid!, startTime: '1', file: 'died.test.ts', since: 0 }
      const { code, output, overdue } = await runFiles(['good.test.ts', 'takes-a-second.test.ts'], true, [died])
      assert.equal(code, 0, output)
      assert.deepEqual(overdue, [])
      assert.deepEqual([other.exitCode, other.signalCode], [null, null])
    } finally {
      other.kill()
    }
  })

  test('a run of tests runs a failed file again, and names it if it passes the second time', async () => {
    for (const alone of [true, false]) {
      const { code, output } = await runFiles(['fails-once.test.ts', 'good.test.ts'], alone)
      assert.equal(code, 0, output)
      assert.match(output, /Failed, and run again: .*fails-once[\s\S]*Unstable: .*fails-once/)
      assert.doesNotMatch(output, /Unstable: .*good/)
    }
  })

  test('a run of tests succeeds with good files', async () => {
    for (const alone of [true, false]) {
      const { code, output } = await runFiles(['good.test.ts', 'better.test.ts'], alone)
      assert.equal(code, 0, output)
    }
  })
})
