import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { type Caller, contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { isPrivateAddress } from '../safe-fetch.ts'
import { Bytes, Events, JsonObject } from '../schema.ts'
import { ResponseTooLarge, ResponseTooLate } from './internal-calls.ts'

const contents: Readable[] = []
/** Authenticates the caller of a request again, as streams do. */
let callerNow: () => Promise<Caller>

/** Returns a stream that repeats `piece` without an end, or a stream without data if `piece` is undefined. */
function endless(piece: Buffer | undefined): Readable {
  const content = new Readable({
    read() {
      if (piece) this.push(piece)
    },
  })
  contents.push(content)
  return content
}

const service = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build: () => ({
    api: {},
    http: [
      {
        name: 'binary',
        roots: ['/bcx/api/v1'],
        routes(http) {
          const schema = (name: string, response: object) => ({ name, summary: 'Get it', response }) as never
          const authenticated = { scope: 'authenticated' }
          http.get('/many', { schema: schema('bytes.many', { 200: Bytes() }), config: authenticated }, (_, reply) =>
            reply.send(endless(Buffer.alloc(10_000))),
          )
          http.get('/none', { schema: schema('bytes.none', { 200: Bytes() }), config: authenticated }, (_, reply) =>
            reply.send(endless(undefined)),
          )
          http.get(
            '/events',
            { schema: schema('events.watch', { 200: Events() }), config: authenticated },
            async (request, reply) => {
              http.events(request, reply)
              return reply
            },
          )
          http.get(
            '/remembered',
            { schema: schema('callers.remember', { 200: JsonObject() }), config: authenticated },
            (request) => {
              callerNow = request.callerNow
              return {}
            },
          )
          http.get(
            '/caller',
            { schema: schema('callers.get', { 200: JsonObject() }), config: authenticated },
            async () => ({ tenantId: (await callerNow()).tenantId }),
          )
          http.get(
            '/address',
            { schema: schema('addresses.get', { 200: JsonObject() }), config: { scope: 'none' } },
            ({ raw }) => ({ address: raw.address }),
          )
        },
      },
    ],
  }),
})
const platform = await openTestPlatform({ services: [service] })
const { internalCalls } = platform.kit
const root = '/bcx/api/v1'
const limits = { bytesMax: 100_000, timeoutMs: 10_000 }
const call = (path: string, caller = aTenantAdmin(), changed: Partial<typeof limits> = {}) =>
  internalCalls.call(caller, { method: 'GET', url: root + path }, { ...limits, ...changed })

suite('limits of internal calls', () => {
  test('a response that is too large is not read to its end', async () => {
    await assert.rejects(call('/many'), ResponseTooLarge)
    await eventually(() => assert.ok(contents.at(-1)!.destroyed))
  })

  test('an internal call whose response does not end fails at its time limit', async () => {
    await assert.rejects(call('/none', aTenantAdmin(), { timeoutMs: 300 }), ResponseTooLate)
    await eventually(() => assert.ok(contents.at(-1)!.destroyed))
  })
})

test('a stream cannot be opened by an internal call', async () => {
  const { status, headers } = await call('/events')
  assert.deepEqual([status, headers['x-waypost-error']], [400, 'no_stream_for_scripts'])
})

test('a request keeps its own caller, even if it authenticates again during an internal call of another caller', async () => {
  assert.equal((await platform.as(aTenantAdmin('one'))(`GET ${root}/remembered`)).status, 200)
  const { body } = await call('/caller', aTenantAdmin('other'))
  assert.deepEqual(JSON.parse(body), { tenantId: 'one' })
})

test('the internal calls of each tenant have a different address, which is not the address of the machine', async () => {
  const addressFor = async (tenantId: string): Promise<string> =>
    JSON.parse((await call('/address', aTenantAdmin(tenantId))).body).address
  const [one, other] = [await addressFor('one'), await addressFor('other')]
  assert.equal(await addressFor('one'), one)
  assert.notEqual(one, other)
  for (const address of [one, other]) assert.ok(address.startsWith('fd') && isPrivateAddress(address), address)
})
