/** Runs random interleavings of invocations, results, expiry, deletions and reconnects, and compares them with a simple model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import commandService from './index.ts'

const { waypost, admin, device, aProvisionedEndpoint, httpUrl } = await openGateway({
  services: [...services, commandService],
})
const { sql } = waypost.kit.db

/** All times are multiples of this unit, which is much longer than the test takes. */
const unitMs = 100_000

interface Modelled {
  type: string
  remainingMs: number
  state: 'PENDING' | 'EXECUTED' | 'EXPIRED' | 'deleted'
  statusCode?: number
}

type Step =
  | { do: 'invoke'; type: string; units: number }
  | { do: 'result'; id: number; type: string; statusCode: number }
  | { do: 'delete'; id: number }
  | { do: 'pass'; units: number }
  | { do: 'reconnect' }

const type = fc.constantFrom('a', 'b')
const id = fc.integer({ min: 1, max: 8 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('invoke' as const), type, units: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('result' as const), id, type, statusCode: fc.constantFrom(200, 404, 599) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), units: fc.integer({ min: 1, max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const) }) },
)

async function aModelledEndpoint() {
  const { version, endpointId, token } = await aProvisionedEndpoint()
  const topic = `kp1/${version}/cex/${token}`
  const path = `/cex/api/v1/endpoints/${endpointId}/commands`
  const commands: Modelled[] = []
  const outstanding = (onlyType?: string) =>
    commands.flatMap(({ state, type }, index) =>
      state === 'PENDING' && (onlyType === undefined || type === onlyType) ? [index + 1] : [],
    )
  const post = (resource: string, body = '') => fetch(`${httpUrl}/${topic}${resource}`, { method: 'POST', body })

  const apply = {
    async invoke({ type, units }: Extract<Step, { do: 'invoke' }>) {
      const answer = await admin(`POST ${path}/${type}?awaitTimeout=0&commandTtl=${units * unitMs}`)
      commands.push({ type, remainingMs: units * unitMs, state: 'PENDING' })
      assert.ok(String(answer.headers.location).endsWith(`/${type}/${commands.length}`))
    },
    async result({ id, type, statusCode }: Extract<Step, { do: 'result' }>) {
      const known = commands[id - 1]
      const isKnown = known?.state === 'PENDING' && known.type === type
      // The test sends the same message twice, as a device does after a lost acknowledgement. The platform must count it once.
      const body = JSON.stringify([{ id, statusCode }])
      await Promise.all([post(`/result/${type}`, body), post(`/result/${type}`, body)])
      if (isKnown) Object.assign(known, { state: 'EXECUTED', statusCode })
    },
    async delete({ id }: Extract<Step, { do: 'delete' }>) {
      const known = commands[id - 1]
      const { status } = await admin(`DELETE ${path}/${known?.type ?? 'a'}/${id}`)
      assert.equal(status, known && known.state !== 'deleted' ? 204 : 404)
      if (known) known.state = 'deleted'
    },
    async pass({ units }: Extract<Step, { do: 'pass' }>) {
      const ms = units * unitMs
      await sql`
        update commands.commands set created_at = created_at - ${ms} * interval '1 millisecond',
          ends_at = ends_at - ${ms} * interval '1 millisecond' where endpoint_id = ${endpointId}`
      for (const command of commands) {
        command.remainingMs -= ms
        if (command.state === 'PENDING' && command.remainingMs <= 0) command.state = 'EXPIRED'
      }
    },
    async reconnect() {
      const sensor = await device()
      await sensor.publish(`${topic}/result/none`, [])
      for (const one of ['a', 'b']) {
        const expected = outstanding(one)
        if (expected.length === 0) continue
        const { json } = await sensor.receives(`${topic}/command/${one}/status`)
        assert.deepEqual(
          json.map(({ id }: { id: number }) => id),
          expected,
        )
      }
      assert.deepEqual(sensor.received, [])
      await sensor.end()
    },
  }

  return {
    apply: (step: Step) => apply[step.do](step as never),
    async check() {
      const polled = (await (await post('/command')).json()) as { id: number }[]
      assert.deepEqual(
        polled.map(({ id }) => id),
        outstanding(),
      )
      for (const [index, { type, state, statusCode }] of commands.entries()) {
        const { status, body } = await admin(`GET ${path}/${type}/${index + 1}`)
        if (state === 'deleted') assert.equal(status, 404)
        else assert.deepEqual([body.status, body.statusCode], [state, statusCode])
      }
    },
  }
}

test('after each step, commands have the same states as in the model', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const endpoint = await aModelledEndpoint()
      for (const step of steps) {
        await endpoint.apply(step)
        await endpoint.check()
      }
    }),
    { numRuns: 12, endOnFailure: true },
  ))
