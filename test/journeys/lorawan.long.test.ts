/** Runs the commands of the LoRaWAN guide unchanged, and the command `waypost lorawan`. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openCommands } from '../harness/commands.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { commandsOf, runAsWritten } from '../harness/documents.ts'
import { startPlatform } from '../harness/platform.ts'

test('the guide connects a sensor, stores its uplinks and sends it a command', async () => {
  const { directory } = await startPlatform({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on' } })
  const stopBroker = "trap 'kill $NETWORK 2> /dev/null || true' EXIT"
  const commands = [stopBroker, commandsOf('README.md')[0]!, ...commandsOf('docs/guides/lorawan.md')]
  const { status, stdout, stderr } = runAsWritten(commands, { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  let rest = stdout
  for (const pattern of [
    /"netUsername":"farm@ttn".*?"netConnectionState"/,
    /"netConnectionState":"CONNECTED"/,
    /"createdCount":1,"failedCount":0/,
    /"received":3,"stored":2,"duplicates":1,"dropped":0/,
    /"2026-06-01T10:00:01.000Z","values":\{"value":28\.29\}\},\{"timestamp":"2026-06-01T10:00:02.000Z"/,
    /202 Accepted/,
    /"f_port":2,"confirmed":false,"priority":"NORMAL","correlation_ids":\["waypost:[^"]+"\],"frm_payload":"AQAEsA=="/,
    /"status":"EXECUTED".*?"statusCode":200/,
    /204 No Content/,
  ]) {
    const found = rest.match(pattern)
    assert.ok(found, `${pattern} is not in\n${rest}`)
    rest = rest.slice(found.index! + found[0].length)
  }
})

suite('the command waypost lorawan runs a payload formatter', () => {
  const run = openCommands()
  const directory = temporaryDirectory()
  const codec = (name: string) => new URL(`../../examples/codecs/${name}.js`, import.meta.url).pathname
  const cases: [args: string[], code: number, output: RegExp][] = [
    [
      ['decode', codec('elsys-ers'), '--bytes', '01 00 e2 02:29', '--port', '5'],
      0,
      /"temperature": 22\.6,\s+"humidity": 41/,
    ],
    [['encode', codec('mclimate-vicki'), '--data', '{"setKeepAlive": 10}'], 0, /^020a on port 1\n$/],
    [['decode', codec('elsys-ers'), '--bytes', 'fe'], 1, /unknown type 254/],
    [['decode', codec('elsys-ers'), '--bytes', 'xyz'], 1, /--bytes: expected hexadecimal/],
    [['decode', codec('elsys-ers'), '--bytes', '01', '--port', '300'], 1, /--port/],
    [['decode', codec('elsys-ers'), '--bytes', '01', '--time', 'soon'], 1, /--time/],
    [['encode', codec('elsys-ers'), '--data', '{'], 1, /--data/],
    [['decode', '/no/such/file.js', '--bytes', '01'], 1, /cannot be read/],
    [['decode', import.meta.filename, '--bytes', '01'], 1, /line \d+, column \d+/],
    [['decode', codec('elsys-ers')], 2, /usage: waypost lorawan/],
    [['explode'], 2, /usage: waypost lorawan/],
  ]
  for (const [args, code, output] of cases)
    test(args.map((arg) => arg.split('/').at(-1)).join(' '), async () => {
      const result = await run(['lorawan', ...args], { directory })
      assert.equal(result.code, code, result.stderr)
      assert.match(result.stdout + result.stderr, output)
    })
})
