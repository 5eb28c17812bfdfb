import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { createFileDescriptors, readDescriptorLimit, shareDescriptors } from './file-descriptors.ts'
import { createMetrics } from './metrics.ts'

for (const limit of [128, 256, 1024, 4096, 20_000, 1_048_576])
  test(`with a limit of ${limit} descriptors, HTTP and MQTT get a share each, and a reserve is left`, () => {
    const { reserve, http, mqtt } = shareDescriptors(limit)
    assert.equal(reserve + http + mqtt, limit)
    assert.ok(reserve >= 96 && http >= 8 && mqtt >= http)
  })

test('settings replace the shares, and are rejected with an explanation if they do not fit', () => {
  assert.deepEqual(shareDescriptors(1000, { http: 100, mqtt: 200 }), {
    limit: 1000,
    reserve: 125,
    http: 100,
    mqtt: 200,
  })
  assert.deepEqual(shareDescriptors(1000, { mqtt: 800 }), { limit: 1000, reserve: 125, http: 75, mqtt: 800 })
  assert.throws(
    () => shareDescriptors(1000, { mqtt: 900 }),
    /WAYPOST_MQTT_CONNECTIONS \(900\) do not fit: .* may open 1000/,
  )
  assert.throws(() => shareDescriptors(1000, { http: 500, mqtt: 500 }), /of which 125 are reserved; raise the limit/)
  assert.throws(() => shareDescriptors(64), /do not fit/)
})

test('the limit of file descriptors is read from the process (ulimit)', () => {
  const script = `import(process.argv[1]).then(({ readDescriptorLimit }) => console.log(readDescriptorLimit()))`
  const { stdout } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 234; exec "$@"', 'sh', process.execPath, '-e', script, moduleUrl],
    { encoding: 'utf8' },
  )
  assert.equal(stdout.trim(), '234')
  assert.ok(readDescriptorLimit() >= 256)
})
const moduleUrl = fileURLToPath(new URL('./file-descriptors.ts', import.meta.url))

function observed(limit = 1024) {
  const lines: Record<string, unknown>[] = []
  const metrics = createMetrics()
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, metrics, descriptors: createFileDescriptors({ limit, log, metrics }) }
}

test('every refused connection is counted, but only some are logged', async () => {
  const { lines, metrics, descriptors } = observed()
  descriptors.http.open = 7
  for (let i = 0; i < 100; i++) descriptors.http.refused('address', '192.0.2.1')
  descriptors.http.refused('total', '192.0.2.2')
  assert.deepEqual(
    lines.map(({ msg, address, open }) => ({ msg, address, open })),
    [
      {
        msg: 'connection limit of one address reached; refusing new connections from this address',
        address: '192.0.2.1',
        open: 7,
      },
      { msg: 'connection limit reached; refusing new connections', address: '192.0.2.2', open: 7 },
    ],
  )
  const text = await metrics.text()
  assert.match(text, /^waypost_connections_refused_total\{listener="http",reason="address"\} 100$/m)
  assert.match(text, /^waypost_connections_open\{listener="http"\} 7$/m)
  assert.match(text, /^waypost_connections_max\{listener="mqtt"\} 672$/m)
})

test('exhausted descriptors are counted, logged once, and reported by the health check', async () => {
  const { lines, metrics, descriptors } = observed()
  assert.deepEqual(await descriptors.check(), {
    limit: 1024,
    reserve: 128,
    http: { open: 0, max: 224 },
    mqtt: { open: 0, max: 672 },
  })
  const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
  for (let i = 0; i < 5; i++) descriptors.acceptFailed('mqtt', error)
  await assert.rejects(descriptors.check(), /no file descriptor of 1024 was free 0 s ago/)
  assert.equal(lines.length, 1)
  assert.match(String(lines[0]?.msg), /no file descriptor is free: connections are dropped/)
  assert.match(await metrics.text(), /^waypost_file_descriptors_exhausted_total\{listener="mqtt"\} 5$/m)
  descriptors.acceptFailed('mqtt', Object.assign(new Error('accept ECONNABORTED'), { code: 'ECONNABORTED' }))
  assert.match(String(lines[1]?.msg), /could not accept a connection/)
})

test('the probe detects that no descriptor is free, although Node.js does not report this to the server', () => {
  const script = `
    const { openSync, closeSync } = require('node:fs')
    const { pino } = require('pino')
    Promise.all([import(process.argv[1]), import(process.argv[2])]).then(async ([{ createFileDescriptors }, { createMetrics }]) => {
      const descriptors = createFileDescriptors({ log: pino(), metrics: createMetrics() })
      const taken = []
      try { for (;;) taken.push(openSync('/dev/null')) } catch {}
      const failing = await descriptors.check().catch((error) => error.message)
      for (const fd of taken) closeSync(fd)
      console.log(failing)
    })`
  const metricsUrl = fileURLToPath(new URL('./metrics.ts', import.meta.url))
  const { stdout } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 150; exec "$@"', 'sh', process.execPath, '-e', script, moduleUrl, metricsUrl],
    { encoding: 'utf8' },
  )
  assert.match(stdout, /"code":"EMFILE".*no file descriptor is free/)
  assert.match(stdout, /^no file descriptor of 150 was free 0 s ago/m)
})
