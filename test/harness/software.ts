/** Fixture of the software tests: the service and the services that it needs, with open MQTT and HTTP listeners. */
import assert from 'node:assert/strict'
import binaryData from '../../src/services/binary-data/index.ts'
import software from '../../src/services/software/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import { eventually } from './eventually.ts'
import { openGateway, services } from './gateway.ts'
import type { Ask, TestPlatformOptions } from './test-platform.ts'

export const softwareServices = [...services, tenants, binaryData, software]
export const softwareRoot = '/otao/api/v1'

export async function openSoftware(options: Partial<TestPlatformOptions> = {}) {
  const at = await openGateway({ services: softwareServices, ...options })
  const { admin, httpUrl } = at

  /** Creates an application, and returns functions for its software. */
  async function aFleet(ask: Ask = admin) {
    const { app, version } = await at.anApplication(['v1'], ask)
    const software = `${softwareRoot}/applications/${app}/software`
    const expectStatus = async (status: number, operation: string, body?: unknown) => {
      const answer = await ask(operation, body)
      assert.equal(answer.status, status, `${operation}: ${answer.text}`)
      return answer
    }
    return {
      app,
      version,
      software,
      /** Creates a version with the rollout strategy `general`. */
      release: (name: string, fields: object = {}) =>
        expectStatus(201, `POST ${software}/${name}`, { rolloutStrategy: 'general', ...fields }),
      put: (name: string, fields: object = {}) =>
        expectStatus(204, `PUT ${software}/${name}`, { rolloutStrategy: 'general', ...fields }),
      read: async (path: string) => (await expectStatus(200, `GET ${software}${path}`)).body,
      post: (path: string) => expectStatus(204, `POST ${software}${path}`),
      async anEndpoint(metadata: object = {}) {
        const { body } = await expectStatus(201, 'POST /epr/api/v1/endpoints', {
          appVersion: { name: version },
          metadata,
        })
        const { endpointId, token } = body as { endpointId: string; token: string }
        return { endpointId, token, topic: `kp1/${version}/cmx_ota/${token}` }
      },
      async aFilter(documentQuery: object) {
        const filters = `/epr/api/v1/applications/${app}/filters`
        const { body } = await expectStatus(201, `POST ${filters}`, { name: crypto.randomUUID(), documentQuery })
        await eventually(async () => assert.equal((await ask(`GET ${filters}/${body.id}`)).body.status, 'active'))
        return body.id as string
      },
    }
  }

  /** Sends a message over HTTP as a device does, and returns the response. */
  async function sendAsDevice(topic: string, path: string, payload: unknown = {}) {
    const answer = await fetch(`${httpUrl}/${topic}${path}`, { method: 'POST', body: JSON.stringify(payload) })
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as any }
  }
  /** Reports a version as applied over HTTP. */
  async function report(topic: string, configId: string, more: object = {}) {
    const answer = await sendAsDevice(topic, '/applied/json', { configId, ...more })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  /** Returns the version that a device gets when it requests its software over HTTP. */
  const requestVersion = async (topic: string, configId?: string): Promise<string | undefined> =>
    (await sendAsDevice(topic, '/config/json', configId === undefined ? {} : { configId })).body.configId

  return { ...at, aFleet, sendAsDevice, report, requestVersion }
}
