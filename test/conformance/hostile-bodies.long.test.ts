/**
 * Sends expensive JSON bodies to real routes over real connections: none may block the event loop for more than 60 ms.
 * `src/kernel/http/body.long.test.ts` tests the bodies that the parser rejects.
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { catalogue } from '../../src/assembly/catalogue.ts'
import { bodyLimitOf, parseJson } from '../../src/kernel/http/body.ts'
import type { TestDevice } from '../harness/device.ts'
import { openGateway } from '../harness/gateway.ts'
import { hostileBodies, largestAccepted, mebibyte } from '../harness/hostile-json.ts'
import { longestStallMs } from '../harness/thread-time.ts'

const names = [
  'numbers of one digit',
  'one text that consists of escapes',
  'short texts',
  'deeply nested arrays',
  'deeply nested objects, each with a new name',
  'an object with long names',
  'an object whose names are scattered indexes',
  'objects that each have a new name',
  'names with escapes',
  'a lone surrogate at the end',
]

/** Bytes reserved for the JSON text that a route requires before and after the hostile value. */
const wrapperBytes = 256

function isAccepted(body: Buffer) {
  try {
    parseJson(body, { plainData: true, roundIntegers: true })
    return body.length < mebibyte - wrapperBytes
  } catch {
    return false
  }
}

/** The largest body of each kind that the parser accepts. `bodiesWithin` returns the largest that are also shorter than `bytesMax`. */
const bodies = names.map((name) => ({ name, body: largestAccepted(hostileBodies[name]!, isAccepted) }))
const bodiesWithin = (bytesMax: number) =>
  names.map((name) => ({
    name,
    body: largestAccepted(hostileBodies[name]!, (body) => body.length < bytesMax - wrapperBytes && isAccepted(body)),
  }))
const small = bodiesWithin(256 * 1024)

type Gateway = Awaited<ReturnType<typeof openGateway>>
let gateway: Gateway
let device: TestDevice
let endpoint: { endpointId: string; token: string; version: string }
before(async () => {
  gateway = await openGateway({ services: catalogue, environment: { WAYPOST_LOG_LEVEL: 'silent' } })
  const { version } = await gateway.anApplication()
  endpoint = { ...(await gateway.anEndpoint(version)), version }
  device = await gateway.device()
})

const wrap = (open: string, body: Buffer, close: string) => Buffer.concat([Buffer.from(open), body, Buffer.from(close)])

/** Maximum CPU time of this thread. Elapsed time would also include the time that other processes of the machine take. */
const stallMaxMs = 60

/** Asserts that the shortest stall of several runs is below the limit. Compilation and garbage collection slow down single runs. */
async function assertShortStall(send: () => Promise<unknown>) {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 10 && least >= stallMaxMs; run++) least = Math.min(least, await longestStallMs(send))
  assert.ok(least < stallMaxMs, `${least} ms`)
}

async function assertRejectedOrDone(operation: string, body: Buffer, headers?: Record<string, string>) {
  const { status, text } = await gateway.admin(operation, body, headers)
  assert.ok([200, 201, 204, 400, 404, 409].includes(status), `${status} ${text.slice(0, 200)}`)
  assert.doesNotMatch(text, /too many values/)
}

interface Shape {
  type?: string | string[]
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
  maxItems?: number
  maxLength?: number
}

/**
 * Assumed bytes of a character in JSON. Many clients escape characters outside of ASCII (`\u00e9`), which takes six bytes. Short texts are
 * mostly names and ids, without such characters.
 */
const bytesPerCharacter = (maxLength: number) => (maxLength > 10_000 ? 6 : 1)

/** Returns the bytes of the longest JSON that the schema accepts; Infinity if it has no limit. */
function longestJsonOf({ type, properties, items, anyOf, maxItems = Infinity, maxLength = Infinity }: Shape): number {
  if (anyOf) return Math.max(...anyOf.map(longestJsonOf))
  const [kind] = [type].flat()
  if (kind === 'array') return maxItems * (longestJsonOf(items ?? {}) + 1)
  if (kind === 'string') return maxLength * bytesPerCharacter(maxLength) + 2
  if (kind === 'object' && properties)
    return Object.entries(properties).reduce((sum, [name, inner]) => sum + name.length + 4 + longestJsonOf(inner), 2)
  return kind === undefined || kind === 'object' ? Infinity : 25
}

test('the body limit of every operation allows the longest body that its schema accepts', () => {
  const { operations } = gateway.waypost.http
  const bounded = operations.filter(({ schema, access }) => schema.body && !access.streamBody)
  assert.ok(bounded.length > 50)
  const tooSmall = bounded.flatMap(({ method, root, path, schema, access }) => {
    const largest = longestJsonOf(schema.body as Shape)
    const fits = !Number.isFinite(largest) || Math.min(largest, mebibyte) <= bodyLimitOf(access)
    return fits ? [] : [`${method} ${root}${path}: ${largest}`]
  })
  assert.deepEqual(tooSmall, [])
})

suite('metadata of an endpoint', () => {
  const patch = { 'content-type': 'application/json-patch+json' }
  for (const { name, body } of small) {
    test(`metadata of an endpoint is replaced by ${name} without a stall`, () =>
      assertShortStall(() => assertRejectedOrDone(`PUT /epr/api/v1/endpoints/${endpoint.endpointId}/metadata`, body)))
    test(`a metadata key is set to ${name} without a stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(`PUT /epr/api/v1/endpoints/${endpoint.endpointId}/metadata/key`, body),
      ))
    test(`metadata of an endpoint is patched with ${name} without a stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(
          `PATCH /epr/api/v1/endpoints/${endpoint.endpointId}/metadata`,
          wrap('[{"op":"add","path":"/key","value":', body, '}]'),
          patch,
        ),
      ))
    test(`metadata of an endpoint is replaced by ${name} in a patch without a stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(
          `PATCH /epr/api/v1/endpoints/${endpoint.endpointId}/metadata`,
          wrap('[{"op":"replace","path":"","value":', body, '}]'),
          patch,
        ),
      ))
  }
})

suite('a new endpoint', () => {
  for (const { name, body } of bodiesWithin(512 * 1024))
    test(`a new endpoint with ${name} causes no stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(
          'POST /epr/api/v1/endpoints',
          wrap(`{"appVersion":{"name":"${endpoint.version}"},"metadata":{"key":`, body, '}}'),
        ),
      ))
})

suite('points', () => {
  for (const { name, body } of bodies)
    test(`points with ${name} cause no stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(
          `PUT /epts/api/v1/app-versions/${endpoint.version}/time-series/data`,
          wrap(`{"${endpoint.endpointId}":{"temperature":`, body, '}}'),
        ),
      ))
})

suite('samples', () => {
  const samples = Buffer.from(
    JSON.stringify(Array.from({ length: 10_000 }, (_, n) => ({ temperature: n, humidity: 40.5 }))),
  )
  const all = [...bodies, { name: 'the maximum number of samples in a message', body: samples }]
  for (const { name, body } of all) {
    test(`a message over HTTP with ${name} causes no stall`, () =>
      assertShortStall(() => assertRejectedOrDone(`POST /kp1/${endpoint.version}/dcx/${endpoint.token}/json`, body)))
    test(`a message over MQTT with ${name} causes no stall`, () =>
      assertShortStall(() => {
        assert.ok(device.client.connected)
        return device.publish(`kp1/${endpoint.version}/dcx/${endpoint.token}/json`, body)
      }))
    test(`an array of ${name} is rejected or processed without a stall`, () =>
      assertShortStall(() =>
        assertRejectedOrDone(`POST /kp1/${endpoint.version}/dcx/${endpoint.token}/json`, wrap('[', body, ']')),
      ))
  }
})
