/** Builds the service of docs/guides/contributing-a-service.md from the files in the guide, in a copy of the sources. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { findProblems } from '../../tools/tidy.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { filesOf, writeFiles } from '../harness/guide.ts'

const guide = 'docs/guides/contributing-a-service.md'
const files = filesOf(guide)
const serviceFiles = files.map(({ path }) => path).filter((path) => path.startsWith('src/services/notes/'))
const copy = temporaryDirectory()

cpSync('src', join(copy, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
cpSync('test/harness', join(copy, 'test/harness'), { recursive: true })
for (const file of ['package.json', 'tsconfig.json', 'biome.json', '.gitignore']) cpSync(file, join(copy, file))
symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
writeFiles(copy, files)

/** Runs a program in the copy; returns its output and whether it succeeded. */
function run(program: string, args: string[]): Promise<{ succeeded: boolean; output: string }> {
  // If NODE_TEST_CONTEXT were set, the test runner in the copy would report to the outer test runner instead of running its tests.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((done) => {
    execFile(program, args, { cwd: copy, env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
      done({ succeeded: error === null, output: stdout + stderr }),
    )
  })
}

test('the guide contains every file that a service can have', () => {
  const names = serviceFiles.map((path) => path.replace('src/services/notes/', ''))
  const expected =
    'README.md contract.ts device.ts errors.ts events.ts index.ts migrations/0001_notes.sql notes.test.ts'
  for (const name of `${expected} event-handlers.ts routes.ts schemas.ts service.ts settings.ts store.ts`.split(' '))
    assert.ok(names.includes(name), name)
})

test('the tests in the guide pass: the service works over HTTP and MQTT', async () => {
  const { succeeded, output } = await run(process.execPath, ['src/services/notes/notes.test.ts'])
  assert.ok(succeeded, output)
  const passed = Number(output.match(/^\S+ pass (\d+)$/m)?.[1])
  const written = files.find(({ path }) => path.endsWith('notes.test.ts'))!.text.match(/^\s+test\(/gm)!.length
  assert.ok(passed >= written, output)
})

test('the service of the guide passes the type check', async () => {
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8'))
  const options = { ...compilerOptions, incremental: false, tsBuildInfoFile: undefined }
  // The type check excludes the test of the service. The test imports all services, so the check would take five times as long.
  const include = ['src/services/notes', 'src/assembly/settings.ts']
  const exclude = ['**/*.test.ts']
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include, exclude }))
  const { succeeded, output } = await run(resolve('node_modules/.bin/tsc'), ['-p', 'tsconfig.json'])
  assert.ok(succeeded, output)
})

test('the service of the guide passes tidy and the formatter', async () => {
  const sources = readdirSync(join(copy, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => join('src', file))
    .filter((file) => file.endsWith('.ts'))
  const problems = findProblems(new Map(sources.map((file) => [file, readFileSync(join(copy, file), 'utf8')])))
  assert.deepEqual(problems, [])
  const args = ['check', '--error-on-warnings', '--vcs-enabled=false', 'src/services/notes']
  const { succeeded, output } = await run(resolve('node_modules/.bin/biome'), args)
  assert.ok(succeeded, output)
})
