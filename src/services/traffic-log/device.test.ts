import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addRealms } from '../../../test/harness/realm-state.ts'
import { aRecord, openTrafficLog } from '../../../test/harness/traffic-log.ts'
import type { TrafficRecord } from './contract.ts'

const { device, record, waypost, admin, log } = await openTrafficLog()
await addRealms(waypost, 'default')
await admin('POST /api/v1/applications', { name: 'app' })
await admin('POST /api/v1/applications/app/app-versions', { nameSuffix: 'v1' })

const endpoint = { tenantId: 'default', applicationName: 'app', versionName: 'app-v1', endpointId: 'ep-1' }
const ask = async (resourcePath: string, requestId?: number, over: object = {}) =>
  await device.receive({
    endpoint: { ...endpoint, ...over },
    extension: 'rsx',
    resourcePath,
    ...(requestId !== undefined && { requestId }),
    payload: Buffer.alloc(0),
    receivedAt: new Date(),
    correlationId: 'c',
  })
const aResponse = (
  requestId: number,
  statusCode: number,
  over: Partial<TrafficRecord> = {},
): Partial<TrafficRecord> => ({
  direction: 'OUTBOUND',
  requestId,
  payload: Buffer.alloc(0),
  additionalMetadata: { transport: 'mqtt', statusCode },
  ...over,
})
const unknown = { status: 404 }

suite('the outcome of a request', () => {
  test('the outcome of a request is the outcome of the last response with its request id', async () => {
    const reason = Buffer.from('{"statusCode":400,"reasonPhrase":"Not JSON"}')
    await record([
      aResponse(7, 200),
      aResponse(8, 400, { payload: reason }),
      aResponse(9, 503, { payload: Buffer.from('{"statusCode":503,"reas') }),
      aResponse(10, 200),
    ])
    await record([aResponse(10, 404)])
    const payloads = await Promise.all([7, 8, 9, 10].map(async (id) => (await ask('/dcx', id))?.payload))
    assert.deepEqual(payloads, [
      { requestId: 7, statusCode: 200, reasonPhrase: 'Ok' },
      { requestId: 8, statusCode: 400, reasonPhrase: 'Not JSON' },
      { requestId: 9, statusCode: 503, reasonPhrase: 'Service Unavailable' },
      { requestId: 10, statusCode: 404, reasonPhrase: 'Not Found' },
    ])
    assert.equal((await ask('/dcx', 7))?.always, true)
  })

  test('the outcome of a request is found immediately after the response, before its record is written', async () => {
    await record([aResponse(69, 200)])
    const written = log.record(aRecord(aResponse(70, 200)))
    assert.deepEqual((await ask('/dcx', 70))?.payload, { requestId: 70, statusCode: 200, reasonPhrase: 'Ok' })
    await written
  })

  test('the outcome of a request is unknown for another extension, endpoint or tenant, and for a request without a response', async () => {
    await record([{ requestId: 11, direction: 'INBOUND' }])
    for (const [path, id, over] of [
      ['/cex', 7, {}],
      ['/dcx', 6, {}],
      ['/dcx', 11, {}],
      ['/dcx', 7, { endpointId: 'ep-2' }],
      ['/dcx', 7, { tenantId: 'other' }],
    ] as const)
      await assert.rejects(ask(path, id, over), unknown)
  })

  test('the outcome of a request requires an extension and a request id', async () => {
    for (const path of ['', '/', '/dcx/json', 'dcx', '/DCX', '/%']) await assert.rejects(ask(path, 7), unknown, path)
    await assert.rejects(ask('/dcx'), { status: 400 })
  })

  test('the outcome of a request is kept for as many requests as the application configures, by default 1000', async () => {
    const many = { endpointId: 'chatty' }
    await record(Array.from({ length: 1005 }, (_, n) => aResponse(n, 200, many)))
    await record(Array.from({ length: 50 }, (_, n) => aResponse(n, 200, { ...many, extension: 'cex' })))
    await assert.rejects(ask('/dcx', 4, many), unknown)
    assert.ok(await ask('/dcx', 5, many))
    assert.ok(await ask('/cex', 0, many))

    const configure = (outcomes: unknown) =>
      admin('PUT /api/v1/app-configs/applications/app', { rsx: { platform: { applications: { app: { outcomes } } } } })
    for (const wrong of ['three', 0, 1.5, 10_001]) assert.equal((await configure(wrong)).status, 400)
    assert.equal((await configure(3)).status, 204)
    for (const id of [1002, 1003, 1004]) assert.ok(await ask('/dcx', id, many))
    await assert.rejects(ask('/dcx', 1001, many), unknown)
  })
})
