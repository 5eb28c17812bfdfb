/** Fixture for tests of the ingest facade: the services that it needs, over a real database, with open listeners. */
import assert from 'node:assert/strict'
import ingest from '../../src/services/ingest/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { openGateway, services } from './gateway.ts'
import type { TestPlatformOptions } from './test-platform.ts'

export const asf = '/asf/api/v1'

export async function openIngest(options: Partial<TestPlatformOptions> = {}) {
  const gateway = await openGateway({ services: [...services, timeSeries, ingest], ...options })
  const { admin, httpUrl } = gateway

  async function expectOk(operation: string, body?: unknown) {
    const answer = await admin(operation, body)
    assert.equal(answer.status, 200, `${operation}: ${answer.text}`)
    return answer.body
  }

  return {
    ...gateway,
    expectOk,
    /** Creates an application with a template and an endpoint. */
    async aCollectingEndpoint(template: object = {}) {
      const { app, version } = await gateway.anApplication()
      const endpoint = await gateway.anEndpoint(version)
      const index = `default-${app}`
      await expectOk(`PUT ${asf}/${index}/_template`, template)
      return { app, version, index, ...endpoint }
    },
    /** Sends a message as a device does over HTTP, and returns when the platform has acknowledged it. */
    async send({ version, token }: { version: string; token: string }, payload: unknown) {
      const answer = await fetch(`${httpUrl}/kp1/${version}/dcx/${token}/json`, {
        method: 'POST',
        body: typeof payload === 'string' ? payload : JSON.stringify(payload),
      })
      assert.equal(answer.status, 200, await answer.text())
    },
    search: (index: string, body: object = {}) => expectOk(`POST ${asf}/${index}/_search`, body),
    /** Returns the documents that a search finds. */
    async documents(index: string, body: object = {}) {
      const { hits } = await expectOk(`POST ${asf}/${index}/_search`, body)
      return hits.hits.map((hit: { _source: unknown }) => hit._source)
    },
  }
}

/** Samples for tests of searches, in the order in which they are sent. Tests identify a sample by its `n`. */
export const searchedSamples = [
  { n: 1, temperature: 10, room: 'Lab One', on: true, tags: ['a', 'b'], at: '2026-01-01T00:30:00Z' },
  { n: 2, temperature: 20.5, room: 'lab two', on: false, tags: ['b'], at: '2026-01-01T01:15:00Z' },
  { n: 3, temperature: 30, room: 'office', on: true, tags: [], at: '2026-01-01T01:45:00Z', nested: { deep: 'x' } },
  { n: 4, temperature: '40', room: 'Office', at: '2026-01-03T05:00:00Z', nested: { deep: null } },
  {
    n: 5,
    code: 'A-1',
    items: [
      { k: 1, v: 'one' },
      { k: 2, v: 'two' },
    ],
  },
]
