/**
 * Tests results that are stored while commands of an endpoint are read and pushed, and an installation with a lower limit of
 * `awaitTimeout`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { connected } from '../../../test/harness/mqtt-raw.ts'
import type { Push } from '../../kernel/device.ts'
import commandService from './index.ts'
import { createDispatch, type Dispatch } from './service/dispatch.ts'
import { createStoreResults } from './service/results.ts'

const { admin, aProvisionedEndpoint, mqttUrl, waypost } = await openGateway({
  services: [...services, commandService],
  environment: { WAYPOST_COMMAND_AWAIT_SECONDS: '2' },
})

test('a command is not pushed again if its result was stored after the command was read for a push', async () => {
  const { endpointId } = await aProvisionedEndpoint()
  for (let n = 0; n < 3; n++)
    assert.equal((await admin(`POST /cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=0`)).status, 202)
  const sent: string[] = []
  let connection = {}
  let answeredDuringChecks: number[] = []
  let answeredType = 'blink'
  const dispatch: Dispatch = createDispatch({
    kit: { ...waypost.kit, signals: { ...waypost.kit.signals, on() {} } },
    dispatched() {},
    gateway: {
      connectionOf: () => connection,
      nodesOf: async () => new Map(),
      async sendHere(_, push: Push, latest = () => push) {
        for (const id of answeredDuringChecks) dispatch.answered(endpointId, answeredType, id)
        const last = latest()
        if (!last) return 'withdrawn'
        sent.push(String(last.payload))
        return 'sent'
      },
    },
  })
  const pushedWith = async (answeredIds: number[]) => {
    connection = {}
    answeredDuringChecks = answeredIds
    await dispatch.catchUp({ tenantId: 'default', endpointId })
    return sent.splice(0)
  }
  assert.deepEqual(await pushedWith([1, 3]), ['[{"id":2}]'])
  assert.deepEqual(await pushedWith([1, 2, 3]), [])
  answeredType = 'other'
  assert.deepEqual(
    await pushedWith([1]),
    ['[{"id":1},{"id":2},{"id":3}]'],
    'a result with another type must not count as result of the command',
  )
  // This test stores no result. A reported result removes the command from the current push only, not from later pushes.
  assert.deepEqual(await pushedWith([]), ['[{"id":1},{"id":2},{"id":3}]'])
})

test('outstanding commands that together are larger than the client accepts are sent in several pushes', async () => {
  const { endpointId, prefix } = await aProvisionedEndpoint()
  const topic = prefix.replace('/test/', '/cex/')
  const invoke = (type: string, payload: unknown) =>
    admin(`POST /cex/api/v1/endpoints/${endpointId}/commands/${type}?awaitTimeout=0`, payload)
  for (const length of [60, 60, 500, 60, 60]) await invoke('load', { text: 'x'.repeat(length) })
  const device = await connected(Number(new URL(mqttUrl).port), {
    protocolVersion: 5,
    properties: { maximumPacketSize: 300 },
  })
  const idsOfNextPush = async () =>
    JSON.parse(String((await device.next('publish')).payload)).map(({ id }: { id: number }) => id)
  device.send({ cmd: 'publish', topic: `${topic}/result/none`, payload: '[]', qos: 0, dup: false, retain: false })
  const received: number[] = []
  while (received.length < 4) received.push(...(await idsOfNextPush()))
  assert.deepEqual(received, [1, 2, 4, 5])
  await invoke('reboot', {})
  assert.deepEqual(await idsOfNextPush(), [6], 'the commands before were pushed only once')
  const { body } = await admin(`GET /cex/api/v1/endpoints/${endpointId}/commands/load/3`)
  assert.equal(body.status, 'PENDING')
  device.destroy()
})

test('a repeated result prevents a push of the command, although it changes nothing in the database', async () => {
  const { endpointId } = await aProvisionedEndpoint()
  assert.equal((await admin(`POST /cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=0`)).status, 202)
  const reportedResults: unknown[] = []
  const storeResults = createStoreResults({
    kit: waypost.kit,
    writes: waypost.kit.db.sql,
    states: { changed: async () => {}, changedHere() {} } as never,
    countResults() {},
    answered: (...command) => void reportedResults.push(command),
  })
  const send = () =>
    storeResults({ tenantId: 'default', endpointId } as never, [
      { type: 'blink', results: [{ id: 1, statusCode: 200 }] },
    ])
  assert.deepEqual(await send(), [1])
  assert.deepEqual(await send(), [0])
  assert.deepEqual(reportedResults, [
    [endpointId, 'blink', 1],
    [endpointId, 'blink', 1],
  ])
})

test('an invocation without awaitTimeout waits at most for the maximum that the installation sets', async () => {
  const { endpointId } = await aProvisionedEndpoint()
  const path = `POST /cex/api/v1/endpoints/${endpointId}/commands/blink`
  assert.equal((await admin(`${path}?commandTtl=1`)).status, 202)
  assert.equal((await admin(`${path}?commandTtl=1&awaitTimeout=2`)).status, 202)
  const refused = await admin(`${path}?commandTtl=1&awaitTimeout=3`)
  assert.deepEqual([refused.status, refused.body.message], [400, 'awaitTimeout: expected at most 2 seconds'])
})
