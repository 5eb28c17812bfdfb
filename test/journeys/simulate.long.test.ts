/** Runs `waypost simulate` against the whole platform. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { Gateway } from '../../src/gateway/contract.ts'
import { afterAllTests } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { openInProcessPlatform } from '../harness/in-process-platform.ts'
import { invocations } from '../harness/invocations.ts'
import { programPath, runCommand } from '../harness/platform.ts'

const platform = await openInProcessPlatform()
const { ask, directory } = platform
const commands = invocations(ask)
const gateway = platform.waypost.ask(Gateway)

function simulate(...args: string[]) {
  const child = spawn(process.execPath, [programPath(), 'simulate', ...args], {
    env: { ...process.env, WAYPOST_DATA: directory },
  })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const ended = new Promise<number | null>((done) => child.on('close', done))
  afterAllTests(() => void child.kill('SIGKILL'))
  return {
    output: () => output,
    async stop(signal: NodeJS.Signals) {
      child.kill(signal)
      return await ended
    },
    ended,
  }
}

const traffic = async (query: string) => (await ask(`GET /api/v1/al/endpoint-traffic?${query}`)).body
const endpoints = async () => (await ask('GET /epr/api/v1/endpoints?applicationName=simulator')).body
const areConnected = (...ids: string[]) =>
  eventually(() => assert.deepEqual(ids.map(gateway.isConnected), Array(ids.length).fill(true)), { withinMs: 30_000 })

test('simulated devices send samples, respond to commands, apply configurations and disconnect cleanly', async () => {
  const running = simulate('--devices', '3', '--rate', '5', '--reconnect-every', '0')
  await areConnected('simulator-0001', 'simulator-0002', 'simulator-0003')
  await eventually(async () => {
    const { content } = await traffic('endpointIds=simulator-0002&extension=dcx')
    const [sample] = content.filter(({ direction }: { direction: string }) => direction === 'INBOUND')
    const { timestamp, ...values } = JSON.parse(sample.payload)
    assert.ok(Math.abs(timestamp - Date.now()) < 60_000)
    assert.deepEqual(Object.keys(values), ['temperature', 'humidity', 'battery', 'latitude', 'longitude'])
  })

  const id = await commands.invoke('simulator-0001', 'blink', { times: 2 })
  await eventually(async () => {
    const { statusCode, responsePayload } = await commands.get('simulator-0001', 'blink', id)
    assert.equal(statusCode, 200)
    assert.deepEqual(responsePayload.received, { times: 2 })
  })

  const path = '/ecr/api/v1/endpoints/simulator-0003/app-versions/simulator-v1'
  const written = await ask(`PUT ${path}`, { reportEverySeconds: 0.1 })
  assert.equal(written.status, 200, written.text)
  await eventually(async () => {
    const { content } = (await ask(`GET /ecr/api/v1/statuses?configId=${written.body.configId}`)).body
    const [{ endpointId, status, confirmationStatusCode }] = content
    assert.deepEqual(
      [content.length, endpointId, status, confirmationStatusCode],
      [1, 'simulator-0003', 'APPLIED', 200],
    )
  })

  assert.equal(await running.stop('SIGINT'), 0, running.output())
  assert.match(running.output(), /^3 devices of simulator-v1 connect to mqtt:/)
  assert.match(running.output(), /Stopped: \d+ messages acknowledged, 1 command answered, 1 configuration applied/)
  assert.match(running.output(), / 0 errors\.\n$/)
  await eventually(() => assert.equal(gateway.isConnected('simulator-0001'), false))
})

test('devices install software, and the option --fail sets the share of commands and updates that fail', async () => {
  const software = '/otao/api/v1/applications/updates/software'
  const rollout = async (version: string) => (await ask(`GET ${software}/${version}/rollout`)).body.counts
  const release = async (version: string, from: string) => {
    const body = { rolloutStrategy: 'general', upgradableFrom: [from], skipDispatchingToEndpoint: true }
    const { status, text } = await ask(`POST ${software}/${version}`, body)
    assert.equal(status, 201, text)
    const file = await ask(`PUT ${software}/${version}/file?filename=firmware.bin`, Buffer.alloc(300_000, version))
    assert.equal(file.status, 204, file.text)
  }
  const start = (...args: string[]) =>
    simulate('--application', 'updates', '--devices', '2', '--reconnect-every', '0', ...args)

  const working = start('--software', '1.0.0', '--slow', '0.2')
  await areConnected('updates-0001', 'updates-0002')
  await eventually(async () => assert.equal((await rollout('1.0.0')).applied, 2))
  await release('1.1.0', '1.0.0')
  await eventually(async () => assert.equal((await rollout('1.1.0')).applied, 2))
  const before = Date.now()
  const id = await commands.invoke('updates-0001', 'blink')
  await eventually(async () => assert.equal((await commands.get('updates-0001', 'blink', id)).statusCode, 200))
  assert.ok(Date.now() - before >= 100, 'a slow device must take at least half of the average time')
  assert.equal(await working.stop('SIGTERM'), 0, working.output())
  assert.match(working.output(), / 1 command answered, .* 2 updates installed, .* 0 errors\.\n$/)

  const failing = start('--fail', '100')
  await areConnected('updates-0001', 'updates-0002')
  await release('1.2.0', '1.1.0')
  await eventually(async () =>
    assert.deepEqual(await rollout('1.2.0'), { waiting: 0, offered: 0, applied: 0, failed: 2 }),
  )
  const failed = await commands.invoke('updates-0002', 'blink')
  await eventually(async () => {
    const { statusCode, reasonPhrase } = await commands.get('updates-0002', 'blink', failed)
    assert.deepEqual([statusCode, reasonPhrase], [500, 'simulated failure'])
  })
  assert.equal(await failing.stop('SIGTERM'), 0, failing.output())
  assert.match(failing.output(), / 0 updates installed, /)
})

test('a second run reuses its endpoints and creates missing endpoints; the command reboot makes a device reconnect', async () => {
  const running = simulate('--devices', '4', '--rate', '2', '--reconnect-every', '0')
  await areConnected('simulator-0001', 'simulator-0004')
  assert.equal((await endpoints()).totalElements, 4)
  await commands.invoke('simulator-0004', 'reboot')
  await eventually(() => assert.match(running.output(), / [1-9]\d* reconnections?/), { withinMs: 20_000 })
  assert.equal(await running.stop('SIGTERM'), 0, running.output())
  assert.match(running.output(), / 0 errors\.\n$/)
})

test('simulated devices lose their connections and reconnect, and the command ends after the given duration', async () => {
  const running = simulate('--devices', '4', '--rate', '5', '--reconnect-every', '1', '--seconds', '6')
  assert.equal(await running.ended, 0, running.output())
  assert.match(running.output(), / [1-9]\d* reconnections?, 0 errors\.\n$/)
})

test('a device whose token was deleted gets a new token', async () => {
  const tokens = '/api/v1/endpoints/simulator-0001/tokens'
  const { body } = await ask(`GET ${tokens}`)
  for (const { endpointTokenId } of body.content) await ask(`DELETE ${tokens}/${endpointTokenId}`)
  const running = simulate('--devices', '1', '--rate', '5', '--reconnect-every', '0')
  await areConnected('simulator-0001')
  assert.equal(await running.stop('SIGTERM'), 0)
  assert.match(running.output(), /^waypost: simulator-0001: 401 /m)
})

test('the command reports an error in one sentence, without a stack trace', async () => {
  for (const [args, message, code] of [
    [['--devices', '0'], /^waypost: --devices: expected a number from 1 to 10000\n\nusage: waypost simulate/, 2],
    [['--devices', '2.5'], /^waypost: --devices: expected a whole number/, 2],
    [['--rate', 'fast'], /^waypost: --rate: expected a number/, 2],
    [['--fail', '101'], /^waypost: --fail: expected a number from 0 to 100\n/, 2],
    [['--slow', '-1'], /^waypost: .*--slow/, 2],
    [['--software', 'newest'], /^waypost: --software: expected a version such as 1\.0\.0\n/, 2],
    [['--url', 'http://127.0.0.1'], /^waypost: --url: expected mqtt:/, 2],
    [['--application', 'a/b'], /^waypost: --application: expected/, 2],
    [['--nonsense'], /^waypost: .*--nonsense/, 2],
    [['surplus'], /^waypost: .*surplus/, 2],
    [[], /^waypost: .*bootstrap\.json cannot be read \(ENOENT\): start the platform first/, 1],
  ] as [string[], RegExp, number][]) {
    const answer = await runCommand(['simulate', ...args])
    assert.equal(answer.code, code, args.join(' '))
    assert.match(answer.stderr, message)
    assert.doesNotMatch(answer.stderr, /at .*\.ts:/, 'no stack')
  }
})
