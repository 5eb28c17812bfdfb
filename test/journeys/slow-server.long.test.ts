/** The command line against a server that answers after six seconds. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { afterAllTests, temporaryDirectory } from '../harness/database.ts'
import { environmentOf, runCommand } from '../harness/platform.ts'
import { atTerminal } from '../harness/terminal.ts'

test('at a terminal, a command says once which slow server it waits for; without a terminal it says nothing', async () => {
  const server = createServer((_, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"endpointId":"slow-1"}')
    setTimeout(answer, 6000)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(() => void server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { WAYPOST_URL: `http://${host}`, WAYPOST_API_KEY: 'key' }
  const directory = temporaryDirectory()
  const terminal = atTerminal('bin/waypost endpoints get slow-1 -o json', environmentOf(directory, environment))
  const { code, stderr } = await runCommand(['endpoints', 'get', 'slow-1'], { directory, environment })
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(await terminal.exit, 0, terminal.output())
  const [first, ...others] = terminal.output().split('\r\n')
  assert.equal(first, `waypost: waiting for an answer from ${host}`)
  assert.match(others.join('\n'), /"endpointId": ?"slow-1"/)
  assert.doesNotMatch(others.join('\n'), /waiting/)
})
