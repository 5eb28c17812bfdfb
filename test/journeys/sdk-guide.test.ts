/** Runs the programs of docs/guides/sdk.md with the packed SDK. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { aStrangersProject, packSdk } from '../../tools/sdk/package.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { filesOf, writeFiles } from '../harness/guide.ts'
import { startPlatform } from '../harness/platform.ts'

const expected: Record<string, RegExp> = {
  'endpoints.mjs': /^tree-1\ntree-2\ntree-3\nin all 3\n404 \w+ endpoints\.get\n$/,
  'etags.mjs': /^read again: 304\nheight 4: 204\nheight 5: 412\n$/,
  'device.mjs': /^the sample is stored\n200 blink 3 times\n31\n$/,
}

test('the programs of the guide to the SDK print what the guide says', async () => {
  const { baseUrl, bootstrap } = await startPlatform()
  const { id, secret } = bootstrap.default.backendClient
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const project = aStrangersProject(folder, packSdk(folder))
  const files = filesOf('docs/guides/sdk.md')
  writeFiles(project, files)
  assert.deepEqual(
    files.map(({ path }) => path),
    Object.keys(expected),
  )
  const env = { PATH: process.env.PATH, WAYPOST: baseUrl, CLIENT_ID: id, CLIENT_SECRET: secret }
  for (const { path } of files) {
    const { stdout } = await promisify(execFile)(process.execPath, [path], { cwd: project, env, timeout: 60_000 })
    assert.match(stdout, expected[path]!, path)
  }
})
