/** Runs the programs of docs/guides/sdk.md with the packed SDK. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createClient } from '../../sdk/src/index.ts'
import { createSdkProject, packSdk } from '../../tools/sdk/package.ts'
import { afterAllTests, temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { filesOf, writeFiles } from '../harness/guide.ts'
import { startPlatform } from '../harness/platform.ts'

const expected: Record<string, RegExp> = {
  'endpoints.mjs': /^tree-1\ntree-2\ntree-3\nin all 3\n404 \w+ endpoints\.get\n$/,
  'etags.mjs': /^read again: 304\nheight 4: 204\nheight 5: 412\n$/,
  'device.mjs': /^the sample is stored\n200 blink 3 times\n31\n$/,
}

test('the programs of the guide to the SDK print the output that the guide shows', async () => {
  const { baseUrl, bootstrap } = await startPlatform()
  const { id, secret } = bootstrap.default.backendClient
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const project = createSdkProject(folder, packSdk(folder))
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
  await runExample(project, baseUrl, { tenant: 'default', clientId: id, clientSecret: secret })
})

/** Runs examples/sdk/device.mjs over HTTP until it has answered a command and stored a sample. */
async function runExample(
  project: string,
  url: string,
  auth: { tenant: string; clientId: string; clientSecret: string },
) {
  const client = createClient({ url, auth })
  cpSync('examples/sdk/device.mjs', join(project, 'example.mjs'))
  const device = spawn(process.execPath, ['example.mjs', 'orchard-v1', 'tree-2-token', url], { cwd: project })
  afterAllTests(() => void device.kill('SIGKILL'))
  let output = ''
  device.stdout.on('data', (text) => (output += text))
  device.stderr.on('data', (text) => (output += text))
  await eventually(() => assert.match(output, /the sample is stored/), { withinMs: 20_000 })
  await client.configurations.endpoints.update({
    endpointId: 'tree-2',
    appVersionName: 'orchard-v1',
    body: { every: 7 },
  })
  const command = { endpointId: 'tree-2', commandType: 'blink', awaitTimeout: 20, body: { times: 1 } }
  assert.equal((await client.commands.send(command)).body, 'done by the SDK')
  await eventually(() => assert.match(output, /applied \{"every":7\}/), { withinMs: 20_000 })
  const ended = new Promise((done) => device.on('close', done))
  device.kill('SIGINT')
  assert.equal(await ended, 0, output)
}
