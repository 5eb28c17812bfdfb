/** Fixture of the binary data tests: the service and the services that it needs, over a real database and real sockets. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import gateway from '../../src/gateway/index.ts'
import identity from '../../src/identity/index.ts'
import applications from '../../src/services/applications/index.ts'
import { BinaryData } from '../../src/services/binary-data/contract.ts'
import binaryData from '../../src/services/binary-data/index.ts'
import credentials from '../../src/services/credentials/index.ts'
import register from '../../src/services/register/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import tokens from '../../src/services/tokens/index.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'
import { aTenantAdmin } from './builders.ts'
import { addRealms } from './realm-state.ts'
import { type Ask, openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const root = '/bcx/api/v1'

/** Headers of an administrator, for requests over a real socket. */
export const asAdmin = { authorization: 'Bearer admin' }

export interface Endpoint {
  tenantId: string
  applicationName: string
  versionName: string
  endpointId: string
  /** `/applications/…/endpoints/…` below the root. */
  path: string
}

export interface Sent {
  status: number
  headers: Record<string, string | undefined>
  bytes: Buffer
  text: string
}

export async function openBinaryData(options: Partial<TestPlatformOptions> = {}) {
  const waypost = await openTestPlatform({
    authenticate: () => async (headers) =>
      headers.authorization === asAdmin.authorization ? aTenantAdmin() : undefined,
    ...options,
    services: [identity, tenants, applications, tokens, register, credentials, trafficLog, gateway, binaryData],
  })
  await addRealms(waypost, 'default', 'other', 'doomed')
  await waypost.http.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = waypost.http.app.server.address() as AddressInfo
  const asks = new Map<string, Ask>()
  const adminOf = (tenantId: string) => {
    const ask = asks.get(tenantId) ?? waypost.as(aTenantAdmin(tenantId))
    asks.set(tenantId, ask)
    return ask
  }
  const create = async (ask: Ask, operation: string, body: object) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, 201, answer.text)
    return answer
  }
  let count = 0
  const { issueUploadToken } = waypost.ask(BinaryData)

  return {
    waypost,
    port,
    admin: adminOf('default'),
    adminOf,

    async anApplication(tenantId = 'default') {
      const name = `app-${++count}`
      await create(adminOf(tenantId), 'POST /api/v1/applications', { name })
      await create(adminOf(tenantId), `POST /api/v1/applications/${name}/app-versions`, { nameSuffix: 'v1' })
      return name
    },

    async anEndpoint(applicationName: string, { tenantId = 'default', endpointId = `ep-${++count}` } = {}) {
      const versionName = `${applicationName}-v1`
      const body = { appVersion: { name: versionName }, endpointId }
      await create(adminOf(tenantId), 'POST /epr/api/v1/endpoints', body)
      const path = `/applications/${applicationName}/endpoints/${endpointId}`
      return { tenantId, applicationName, versionName, endpointId, path } satisfies Endpoint
    },

    aToken: (endpoint: Endpoint) => issueUploadToken(endpoint),

    /** Sends a request over a real socket; the body may be a stream. */
    send: (
      operation: string,
      headers: Record<string, string> = {},
      body?: Uint8Array | string | AsyncIterable<Uint8Array>,
    ) => send(port, operation, headers, body),

    /** Uploads a blob or a file with an upload token, as a device does. */
    async upload(endpoint: Endpoint, path: string, body: Uint8Array | string, headers: Record<string, string> = {}) {
      const token = await issueUploadToken(endpoint)
      const answer = await send(port, `POST ${root}${path}`, { 'x-auth-token': token, ...headers }, body)
      assert.ok(answer.status === 201 || answer.status === 204, `${answer.status} ${answer.text}`)
      return answer
    },

    /** Returns the usage that is stored for a tenant (`kept`), and the sum of the sizes of its items (`summed`). */
    async usage(tenantId = 'default'): Promise<{ kept: number; summed: number }> {
      const [row] = await waypost.kit.db.sql`
        select (select coalesce(sum(bytes), 0)::bigint from binary_data.usage where tenant_id = ${tenantId}) as kept,
          (select coalesce(sum(size), 0)::bigint from binary_data.items where tenant_id = ${tenantId}) as summed`
      return row as never
    },
  }
}

export function send(
  port: number,
  operation: string,
  headers: Record<string, string> = {},
  body?: Uint8Array | string | AsyncIterable<Uint8Array>,
): Promise<Sent> {
  const [method, path] = operation.split(' ') as [string, string]
  return new Promise((resolve, reject) => {
    const plain = typeof body === 'string' || body instanceof Uint8Array
    const length = plain ? { 'content-length': String(Buffer.byteLength(body)) } : {}
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers: { ...length, ...headers } })
    outgoing.on('response', async (incoming) => {
      const bytes = await buffer(incoming)
      resolve({ status: incoming.statusCode!, headers: incoming.headers as never, bytes, text: bytes.toString('utf8') })
    })
    outgoing.on('error', reject)
    const closed = new Promise((close) => outgoing.once('close', close))
    if (plain || body === undefined) outgoing.end(body)
    else
      void (async () => {
        for await (const piece of body) {
          if (outgoing.destroyed) return
          if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), closed])
        }
        outgoing.end()
      })().catch((error) => outgoing.destroy(error))
  })
}

/** Returns pseudo-random bytes, so that mixed-up or misplaced content is detected. */
export function bytesOf(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}
