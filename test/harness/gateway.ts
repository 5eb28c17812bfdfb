/**
 * Fixture of the gateway tests: services with open MQTT and HTTP listeners, an extension that records messages, and functions that create
 * endpoints.
 */
import assert from 'node:assert/strict'
import { Gateway } from '../../src/gateway/contract.ts'
import gateway from '../../src/gateway/index.ts'
import { Identity } from '../../src/identity/contract.ts'
import identity from '../../src/identity/index.ts'
import type { DeviceEndpoint, DeviceMessage, Extension, Push } from '../../src/kernel/device.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import applications from '../../src/services/applications/index.ts'
import credentials from '../../src/services/credentials/index.ts'
import register from '../../src/services/register/index.ts'
import tokens from '../../src/services/tokens/index.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'
import { aTenantAdmin } from './builders.ts'
import { aDevice } from './device.ts'
import { addRealms } from './realm-state.ts'
import { openTestPlatform, type TestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const services = [identity, applications, credentials, tokens, register, trafficLog, gateway]

export interface RecordedMessage {
  endpoint: DeviceEndpoint
  resourcePath: string
  requestId: number | undefined
  text: string
}

/** Returns an extension that records the messages that it receives. Tests may replace `receive`. */
export function recordingExtension(name = 'test') {
  const messages: RecordedMessage[] = []
  const extension: Extension & { messages: RecordedMessage[]; pushes: Push[] } = {
    name,
    messages,
    /** Messages that the extension pushes to each endpoint when the endpoint connects. */
    pushes: [],
    async receive({ endpoint, resourcePath, requestId, payload }: DeviceMessage) {
      messages.push({ endpoint, resourcePath, requestId, text: payload.toString() })
      return undefined
    },
    async connected() {
      return this.pushes
    },
  }
  return extension
}

export async function openGateway(options: Partial<TestPlatformOptions> = {}) {
  const test = recordingExtension()
  const waypost = await openTestPlatform({ services, ...options, listeners: [test, ...(options.listeners ?? [])] })
  await addRealms(waypost, 'platform', 'default', 'other')
  const { port } = await listen(waypost)
  const admin = waypost.as(aTenantAdmin())
  const other = waypost.as(aTenantAdmin('other'))
  return {
    waypost,
    test,
    admin,
    other,
    gateway: gatewayWithoutTransactions(waypost),
    mqttUrl: waypost.addresses.mqttUrl!,
    mqttsUrl: waypost.addresses.mqttsUrl!,
    httpUrl: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    ...createFixtures(admin),
    device: (settings?: Parameters<typeof aDevice>[1]) => aDevice(waypost.addresses.mqttUrl!, settings),
    async setTenantStatus(tenantId: string, status: 'AVAILABLE' | 'SUSPENDED') {
      await waypost.kit.db.tx((sql) => waypost.ask(Identity).setRealmStatus(sql, tenantId, status))
    },
  }
}

/**
 * Wraps the contract of the gateway, so that tests need no transaction. `send` waits for the delivery and resolves with its outcome;
 * `startSend` does not wait.
 */
export function gatewayWithoutTransactions(waypost: Pick<TestPlatform, 'ask' | 'kit'>) {
  const { sql } = waypost.kit.db
  const api = waypost.ask(Gateway)
  return {
    ...api,
    startSend: (endpointId: string, push: Push) => api.send(sql, endpointId, push),
    send: async (endpointId: string, push: Push) => (await api.send(sql, endpointId, push)).delivery,
  }
}

async function listen(waypost: Awaited<ReturnType<typeof openTestPlatform>>) {
  await waypost.http.app.listen({ host: '127.0.0.1', port: 0 })
  return waypost.http.app.server.address() as { port: number }
}

let count = 0

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Ask = (operation: string, body?: unknown) => Promise<{ status: number; text: string; body: any }>

/** Returns functions that create applications, endpoints and credentials over the HTTP API. */
export function createFixtures(admin: Ask) {
  const expectStatus = async (status: number, operation: string, body?: unknown, ask: Ask = admin) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, status, `${operation}: ${answer.text}`)
    return answer
  }
  const fixtures = {
    async anApplication(versions = ['v1'], ask: Ask = admin) {
      const app = `app-${++count}-${newShortToken(6).toLowerCase()}`
      await expectStatus(201, 'POST /api/v1/applications', { name: app }, ask)
      for (const nameSuffix of versions)
        await expectStatus(201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix }, ask)
      return { app, version: `${app}-${versions[0]}` }
    },
    async anEndpoint(version: string, ask: Ask = admin) {
      const { body } = await expectStatus(201, 'POST /epr/api/v1/endpoints', { appVersion: { name: version } }, ask)
      return { endpointId: body.endpointId as string, token: body.token as string }
    },
    /** Creates an application with a version and an endpoint, and the topic prefix `kp1/<version>/test/<token>`. */
    async aProvisionedEndpoint(ask: Ask = admin) {
      const { app, version } = await fixtures.anApplication(['v1'], ask)
      const endpoint = await fixtures.anEndpoint(version, ask)
      return { app, version, ...endpoint, prefix: `kp1/${version}/test/${endpoint.token}` }
    },
    async tokenIdOf(endpointId: string, ask: Ask = admin): Promise<string> {
      const { body } = await expectStatus(200, `GET /api/v1/endpoints/${endpointId}/tokens`, undefined, ask)
      return body.content[0].endpointTokenId
    },
    async setTokenStatus(endpointId: string, status: string, ask: Ask = admin) {
      const id = await fixtures.tokenIdOf(endpointId, ask)
      await expectStatus(204, `PUT /api/v1/endpoints/${endpointId}/tokens/${id}/status`, { status }, ask)
    },
    async metadataOf(endpointId: string, ask: Ask = admin) {
      return (await expectStatus(200, `GET /epr/api/v1/endpoints/${endpointId}/metadata`, undefined, ask)).body
    },
    async aBasicCredential(ask: Ask = admin) {
      const [username, password] = [`user-${++count}`, newShortToken(20)]
      const { body } = await expectStatus(201, 'POST /api/v1/basic-credentials', { username, password }, ask)
      return { id: body.id as string, username, password }
    },
  }
  return fixtures
}
