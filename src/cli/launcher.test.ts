/** Tests `bin/waypost`, which starts Node.js with options that depend on the command. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const launcher = resolve(import.meta.dirname, '../../bin/waypost')

/** Returns the options of Node.js with which a command starts. The command itself does not run. */
async function optionsOf(...args: string[]): Promise<string[]> {
  const program = 'process.stdout.write(JSON.stringify(process.execArgv));process.exit(0)'
  const env = { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
  return JSON.parse((await promisify(execFile)(launcher, args, { env })).stdout)
}

test('commands that keep running start with the default memory of Node.js for new objects, and short commands with less', async () => {
  for (const command of ['start', 'simulate', 'tail', 'vpn', 'watch'])
    assert.deepEqual(await optionsOf(command, '--some-option'), [], command)
  const short = ['--min-semi-space-size=4', '--max-semi-space-size=8']
  assert.deepEqual(await optionsOf('endpoints', 'get', 'tail'), short)
})
