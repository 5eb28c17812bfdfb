/** Fixture of the LoRaWAN tests: the services with open listeners, and integrations with a network that the test simulates. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import commands from '../../src/services/commands/index.ts'
import lorawan from '../../src/services/lorawan/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { afterAllTests } from './database.ts'
import { eventually } from './eventually.ts'
import { openGateway, services } from './gateway.ts'
import type { Ask, TestPlatformOptions } from './test-platform.ts'

export const lorawanServices = [...services, tenants, timeSeries, commands, lorawan]

let count = 0

export async function openLorawan(options: Partial<TestPlatformOptions> = {}) {
  const at = await openGateway({
    services: lorawanServices,
    ...options,
    environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on', ...options.environment },
  })
  return { ...at, ...lorawanFixtures(at) }
}

type Opened = Pick<Awaited<ReturnType<typeof openGateway>>, 'admin' | 'anApplication'>

/** Returns functions that create integrations over the HTTP API. */
export function lorawanFixtures({ admin, anApplication }: Opened) {
  const expectStatus = async (status: number, operation: string, body?: unknown, ask: Ask = admin) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, status, `${operation}: ${answer.text}`)
    return answer
  }

  /** Creates an application with an integration; by default without an MQTT session. */
  async function anIntegration(fields: object = {}, ask: Ask = admin) {
    const { app, version } = await anApplication(['v1'], ask)
    const netUsername = `net-${++count}@ttn`
    const { body } = await expectStatus(
      201,
      'POST /api/v1/integrations',
      { ...aConnection(netUsername), appName: app, ...fields },
      ask,
    )
    const path = `/api/v1/integrations/${body.id}`
    return {
      app,
      version,
      netUsername: body.netUsername as string,
      id: body.id as number,
      path,
      integration: body,
      /** Creates device integrations and returns them as the API does. */
      async map(devices: object[]) {
        const named = devices.map((device) => ({ name: 'device', ...device }))
        const answer = await expectStatus(201, `POST ${path}/devices`, { appVersionName: version, devices: named }, ask)
        assert.deepEqual(answer.body.failed, [])
        // biome-ignore lint/suspicious/noExplicitAny: tests read every field
        return answer.body.created as any[]
      },
    }
  }

  /** Returns the values of a series by endpoint, for one application: `[[time, value], …]`, oldest first. */
  async function valuesOf(app: string, series: string, ask: Ask = admin): Promise<Record<string, [string, unknown][]>> {
    const dates = 'fromDate=2000-01-01T00:00:00Z&toDate=2100-01-01T00:00:00Z'
    const path = `/epts/api/v1/applications/${app}/time-series/data?timeSeriesName=${series}&${dates}`
    const { body } = await expectStatus(200, `GET ${path}`, undefined, ask)
    const values: Record<string, [string, unknown][]> = {}
    for (const part of body as Record<string, Record<string, { timestamp: string; values: { value: unknown } }[]>>[])
      for (const [endpointId, bySeries] of Object.entries(part))
        for (const { timestamp, values: found } of bySeries[series] ?? []) {
          values[endpointId] ??= []
          values[endpointId].push([timestamp, found.value])
        }
    return values
  }

  /** Waits until the session of an integration is in the given state, and returns the integration. */
  const untilState = (path: string, state: 'CONNECTED' | 'DISCONNECTED', error?: RegExp, ask: Ask = admin) =>
    eventually(
      async () => {
        const { body } = await expectStatus(200, `GET ${path}`, undefined, ask)
        assert.equal(body.netConnectionState, state, body.netConnectionError)
        if (error) assert.match(body.netConnectionError ?? '', error)
        return body
      },
      { withinMs: 15_000 },
    )
  return { expectStatus, anIntegration, valuesOf, untilState }
}

export const aConnection = (netUsername = `net-${++count}@ttn`) => ({
  netUsername,
  netApiKeyId: 'NNSXS.SECRET-KEY.ABCDEF',
  netIdentityServerHost: 'eu1.example.com',
  netMqttIntegrationEnabled: false,
  name: 'the network',
})

export interface NetworkRequest {
  method: string
  path: string
  authorization: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
  body: any
}
type NetworkAnswer =
  | { status?: number; body?: unknown; text?: string; headers?: Record<string, string> }
  | 'never'
  | 'closed'

/** Starts an HTTP server that simulates the API of a network; it records requests and stops after the tests. */
export async function aNetworkApi(answer: (request: NetworkRequest) => NetworkAnswer) {
  const requests: NetworkRequest[] = []
  const server = createServer(async (incoming: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { method = '', url = '' } = incoming
    const request = {
      method,
      path: url,
      authorization: incoming.headers.authorization,
      body: text === '' ? undefined : JSON.parse(text),
    }
    requests.push(request)
    const answered = answer(request)
    if (answered === 'never') return
    if (answered === 'closed') return incoming.socket.destroy()
    response.writeHead(answered.status ?? 200, { 'content-type': 'application/json', ...answered.headers })
    response.end(answered.text ?? JSON.stringify(answered.body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAllTests(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { host: `http://127.0.0.1:${port}`, port, requests }
}
