/** Fixture for tests of configurations: services with open listeners, endpoints with their topics, and calls of the API. */
import assert from 'node:assert/strict'
import configuration from '../../src/services/configuration/index.ts'
import type { TestDevice } from './device.ts'
import { eventually } from './eventually.ts'
import { openGateway, services } from './gateway.ts'
import type { TestPlatformOptions } from './test-platform.ts'

export const ecr = '/ecr/api/v1'

export async function openConfiguration(options: Partial<TestPlatformOptions> = {}) {
  const opened = await openGateway({ services: [...services, configuration], ...options })
  const { admin, aProvisionedEndpoint, httpUrl } = opened

  const ok = async (operation: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await admin(operation, body, headers)
    assert.equal(answer.status, 200, `${operation}: ${answer.text}`)
    return answer.body
  }

  /** Creates an endpoint. Returns it with the path of its configuration, the topics of its device and a function that polls over HTTP. */
  async function aTestEndpoint() {
    return testEndpoint(await aProvisionedEndpoint())
  }

  function testEndpoint(endpoint: { app: string; version: string; endpointId: string; token: string }) {
    const topic = (rest = '') => `kp1/${endpoint.version}/cmx/${endpoint.token}${rest}`
    const path = `${ecr}/endpoints/${endpoint.endpointId}/app-versions/${endpoint.version}`
    return {
      ...endpoint,
      path,
      defaults: `${ecr}/app-versions/${endpoint.version}`,
      topic,
      put: (config: unknown, query = '') => ok(`PUT ${path}${query}`, config),
      async post(rest: string, payload: unknown = '') {
        const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
        const answer = await fetch(`${httpUrl}/${topic(rest)}`, { method: 'POST', body })
        const text = await answer.text()
        return { status: answer.status, body: text === '' ? '' : JSON.parse(text) }
      },
      /** Publishes a message, so that the connection represents the endpoint and the platform pushes waiting configurations. */
      connect: (device: TestDevice) => device.publish(`kp1/${endpoint.version}/test/${endpoint.token}/json`, '1'),
    }
  }

  const statusesOf = async (query: string) => (await ok(`GET ${ecr}/statuses?${query}`)).content
  /** Waits until the query returns exactly the expected statuses. */
  const eventuallyStatuses = (query: string, expected: string[]) =>
    eventually(async () => {
      const found = (await statusesOf(query)).map(({ status }: { status: string }) => status)
      assert.deepEqual(found, expected)
    })

  return { ...opened, ok, aTestEndpoint, testEndpoint, statusesOf, eventuallyStatuses }
}

/** Returns the payload that a device gets for a configuration of the API. */
export const asPushed = ({ configId, config }: { configId: string; config: string }) => ({
  configId,
  config: JSON.parse(config),
  statusCode: 200,
  reasonPhrase: 'ok',
})
