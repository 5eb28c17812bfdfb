/** Results that are stored while the commands of an endpoint are read and pushed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import type { Push } from '../../kernel/device.ts'
import commandService from './index.ts'
import { createDispatch, type Dispatch } from './service/dispatch.ts'

const { admin, aProvisionedEndpoint, waypost } = await openGateway({
  services: [...services, commandService],
})

test('a command whose result is stored after it was read for a push is not pushed again', async () => {
  const { endpointId } = await aProvisionedEndpoint()
  for (let n = 0; n < 3; n++)
    assert.equal((await admin(`POST /cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=0`)).status, 202)
  const sent: string[] = []
  let connection = {}
  let answeredDuringChecks: number[] = []
  const dispatch: Dispatch = createDispatch({
    kit: { ...waypost.kit, signals: { ...waypost.kit.signals, on() {} } },
    dispatched() {},
    gateway: {
      connectionOf: () => connection,
      nodesOf: async () => new Map(),
      async sendHere(_, push: Push, latest = () => push) {
        for (const id of answeredDuringChecks) dispatch.answered(endpointId, id)
        const last = latest()
        if (!last) return 'withdrawn'
        sent.push(String(last.payload))
        return 'sent'
      },
    },
  })
  const pushedWith = async (answered: number[]) => {
    connection = {}
    answeredDuringChecks = answered
    await dispatch.catchUp({ tenantId: 'default', endpointId })
    return sent.splice(0)
  }
  assert.deepEqual(await pushedWith([1, 3]), ['[{"id":2}]'])
  assert.deepEqual(await pushedWith([1, 2, 3]), [])
  // It counts for the push under way only: here no result is stored in truth.
  assert.deepEqual(await pushedWith([]), ['[{"id":1},{"id":2},{"id":3}]'])
})
