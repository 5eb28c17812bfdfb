/**
 * Simulated devices that send samples over MQTT 3.1.1, MQTT 5 and HTTP. They retransmit unacknowledged messages, as good firmware does.
 * Afterwards, exactly the samples of valid messages must be stored.
 */
import assert from 'node:assert/strict'
import { connect as connectMqtt } from 'mqtt'
import { sleep } from '../../src/kernel/clock.ts'
import { type ConnectionOptions, connect } from '../../src/kernel/db.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import type { Ask } from '../harness/client.ts'
import { afterAllTests } from '../harness/database.ts'
import { createFixtures } from '../harness/gateway.ts'
import { readPoints } from '../harness/series-reader.ts'
import { storedTraffic } from '../harness/stored-traffic.ts'

export interface Fleet {
  /** Returns the number of acknowledged messages, including rejected messages. */
  acknowledged(): number
  /** Returns the longest time without an acknowledgement since the last call of this function. */
  longestSilenceSeconds(): number
  /** Waits until this many further messages are acknowledged. */
  waitForAcknowledgements(more?: number): Promise<void>
  /** Stops sending and waits until all messages are acknowledged. */
  finish(): Promise<void>
  /** Compares the stored points and the response of the `data` route with the samples that were sent. Call it after `finish`. */
  verify(database: ConnectionOptions, ask: Ask): Promise<FleetReport>
}

export interface FleetReport {
  messages: number
  /** Number of rejected messages. No part of such a message may be stored. */
  refused: number
  /** Stored points, each found exactly once. */
  points: number
  /** Messages sent more than once, because the first acknowledgement was lost. */
  retransmitted: number
}

type Send = (text: string) => Promise<'stored' | 'rejected' | 'retry'>

interface Device {
  endpointId: string
  sent: number
  /** Number of transmissions of each payload. */
  attempts: Map<string, number>
}

const dayMs = 86_400_000
const start = Date.UTC(2026, 0, 5)
const isInvalid = (n: number) => n % 17 === 5
const samplesIn = (n: number) => (n % 5 === 3 ? 3 : 1)
/** Times alternate between four days, so that each slot has samples of all four days. */
const timeOf = (n: number, index: number) => start + (n % 4) * dayMs + n * 100 + index

/**
 * Returns the payload of a message. An invalid message has one sample with a number where text is configured, so the platform must reject
 * the whole message.
 */
function payloadOf(device: number, n: number): string {
  const samples = Array.from({ length: samplesIn(n) }, (_, index) => ({
    timestamp: timeOf(n, index),
    v: n + index / 10,
    s: `${device}-${n}-${index}`,
  }))
  return JSON.stringify(isInvalid(n) ? [...samples, { timestamp: timeOf(n, 9), v: n, s: n }] : samples)
}

interface FleetOptions {
  ask: Ask
  mqttUrl: string
  httpUrl: string
  devices: number
  /** Number of unacknowledged messages that each MQTT device has at any time. An HTTP device always has two. */
  window: number
}

/** The devices and the outcomes of their messages. */
interface FleetState {
  app: string
  devices: Device[]
  sending: boolean
  aborted: boolean
  acknowledged: number
  refused: number
  lastAcknowledgedAt: number
  longestSilenceMs: number
  senders: Promise<void>[]
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { ask, mqttUrl, httpUrl } = options
  const { anApplication, anEndpoint } = createFixtures(ask)
  const { app, version } = await anApplication()
  await configureTexts(ask, app)
  const counts = { acknowledged: 0, refused: 0, lastAcknowledgedAt: performance.now(), longestSilenceMs: 0 }
  const state: FleetState = { app, devices: [], sending: true, aborted: false, ...counts, senders: [] }
  for (let index = 0; index < options.devices; index++) {
    const { endpointId, token } = await anEndpoint(version)
    const topic = `kp1/${version}/dcx/${token}/json`
    const device: Device = { endpointId, sent: 0, attempts: new Map() }
    state.devices.push(device)
    const kind = index % 3
    const send =
      kind === 2 ? httpDevice(`${httpUrl}/${topic}`, device) : mqttDevice(mqttUrl, topic, device, kind === 0 ? 4 : 5)
    for (let n = 0; n < (kind === 2 ? 2 : options.window); n++)
      state.senders.push(sendMessages(state, index, device, send))
  }
  afterAllTests(() => {
    state.sending = false
    state.aborted = true
  })
  return {
    acknowledged: () => state.acknowledged,
    longestSilenceSeconds() {
      const seconds = Math.max(state.longestSilenceMs, performance.now() - state.lastAcknowledgedAt) / 1000
      state.longestSilenceMs = 0
      state.lastAcknowledgedAt = performance.now()
      return seconds
    },
    async waitForAcknowledgements(more = 3 * state.senders.length) {
      const before = state.acknowledged
      await waitUntil('an acknowledgement for each device', () => state.acknowledged >= before + more)
    },
    async finish() {
      state.sending = false
      let waiting = true
      void Promise.all(state.senders).then(() => {
        waiting = false
      })
      await waitUntil('the acknowledgement of everything', () => !waiting)
    },
    verify: (database, askNow) => verify(state, database, askNow),
  }
}

async function configureTexts(ask: Ask, app: string) {
  const values = [{ path: 's', name: 'text', type: 'string' }]
  const configuration = { 'time-series': { names: { state: { values } } } }
  const configured = await ask(`PUT /api/v1/app-configs/applications/${app}`, {
    epts: { platform: { applications: { [app]: configuration } } },
  })
  assert.equal(configured.status, 204, configured.text)
}

const countAttempt = ({ attempts }: Device, text: string) => void attempts.set(text, (attempts.get(text) ?? 0) + 1)

function mqttDevice(mqttUrl: string, topic: string, device: Device, protocolVersion: 4 | 5): Send {
  const clientId = newShortToken(12)
  const client = connectMqtt(mqttUrl, { reconnectPeriod: 100, connectTimeout: 3000, protocolVersion, clientId })
  client.on('error', () => {}) // The client reconnects.
  client.on('packetsend', (packet) => {
    if (packet.cmd === 'publish') countAttempt(device, packet.payload.toString())
  })
  afterAllTests(() => void client.end(true))
  return async (text) => {
    try {
      await client.publishAsync(topic, text, { qos: 1 })
      return 'stored' // The message may be rejected: in MQTT 3.1.1, an acknowledgement has no reason code.
    } catch (error) {
      return (error as { code?: number }).code === 0x99 ? 'rejected' : 'retry'
    }
  }
}

function httpDevice(url: string, device: Device): Send {
  return async (text) => {
    try {
      countAttempt(device, text)
      const { status } = await fetch(url, { method: 'POST', body: text })
      return status === 200 ? 'stored' : status === 400 ? 'rejected' : 'retry'
    } catch {
      return 'retry'
    }
  }
}

/** Sends messages in sequence and retransmits each until it is acknowledged. */
async function sendMessages(running: FleetState, index: number, device: Device, send: Send) {
  while (running.sending) {
    const n = device.sent++
    const text = payloadOf(index, n)
    for (;;) {
      const outcome = await send(text)
      if (running.aborted) return
      if (outcome === 'retry') await sleep(100)
      else {
        if (outcome === 'rejected') assert.ok(isInvalid(n), `rejected: ${text}`)
        break
      }
    }
    if (isInvalid(n)) running.refused++
    running.acknowledged++
    running.longestSilenceMs = Math.max(running.longestSilenceMs, performance.now() - running.lastAcknowledgedAt)
    running.lastAcknowledgedAt = performance.now()
  }
}

async function waitUntil(description: string, holds: () => boolean) {
  const deadline = performance.now() + 90_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${description} did not happen within 90 s`)
    await sleep(10)
  }
}

async function verify(
  { app, devices, refused }: FleetState,
  database: ConnectionOptions,
  ask: Ask,
): Promise<FleetReport> {
  const sql = connect(database, { max: 2 })
  const report: FleetReport = { messages: 0, refused, points: 0, retransmitted: 0 }
  for (const [index, { endpointId, sent, attempts }] of devices.entries()) {
    const expected = expectedOf(index, sent)
    const found = await readPoints(sql, endpointId)
    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort())
    for (const [series, points] of Object.entries(expected)) compare(`${endpointId} ${series}`, found[series]!, points)
    for (const [series, points] of Object.entries(await readOverHttp(ask, app, endpointId)))
      compare(`${endpointId} ${series} over HTTP`, points, expected[series] ?? [])
    report.messages += sent
    report.points += Object.values(expected).reduce((sum, points) => sum + points.length, 0)
    const records = await storedTraffic(sql, { tenantId: 'default', endpointId })
    const logged = Map.groupBy(
      records.filter(({ outbound }) => !outbound),
      ({ payload }) => payload.toString(),
    )
    assert.equal(logged.size, attempts.size, 'the traffic log must contain every message')
    for (const [payload, { length: times }] of logged)
      assert.ok(times <= attempts.get(payload)!, `logged ${times} times: ${payload}`)
    for (const times of attempts.values()) if (times > 1) report.retransmitted++
  }
  await sql.end()
  return report
}

type Points = [number, unknown][]

function expectedOf(device: number, sent: number): Record<string, Points> {
  const [numbers, texts]: [Points, Points] = [[], []]
  for (let n = 0; n < sent; n++)
    for (let index = 0; index < samplesIn(n) && !isInvalid(n); index++) {
      numbers.push([timeOf(n, index), n + index / 10])
      texts.push([timeOf(n, index), `${device}-${n}-${index}`])
    }
  const inTime = (points: Points) => points.sort(([a], [b]) => a - b)
  return { 'auto~v/value': inTime(numbers), 'state/text': inTime(texts) }
}

/** Reads both series over the HTTP API; a series without points is an empty list. */
async function readOverHttp(ask: Ask, app: string, endpointId: string): Promise<Record<string, Points>> {
  const found: Record<string, Points> = { 'auto~v/value': [], 'state/text': [] }
  const query = new URLSearchParams({
    timeSeriesName: 'auto~v,state',
    endpointId,
    fromDate: '2026-01-01',
    toDate: '2030-01-01',
  })
  const { status, body, text } = await ask(`GET /epts/api/v1/applications/${app}/time-series/data?${query}`)
  assert.equal(status, 200, text)
  for (const part of body as Record<string, Record<string, { timestamp: string; values: object }[]>>[])
    for (const [id, series] of Object.entries(part)) {
      assert.equal(id, endpointId)
      for (const [name, points] of Object.entries(series))
        for (const { timestamp, values } of points)
          for (const [valueName, value] of Object.entries(values))
            found[`${name}/${valueName}`]!.push([Date.parse(timestamp), value])
    }
  return found
}

/** Asserts equality point by point, so that a failure shows the first difference only. */
function compare(name: string, found: Points, expected: Points) {
  const length = Math.max(found.length, expected.length)
  for (let index = 0; index < length; index++)
    assert.deepEqual(found[index], expected[index], `${name}: point ${index} of ${expected.length}`)
}
