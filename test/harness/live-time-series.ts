/** Fixture of the live time series tests: services with an open HTTP listener, and callers whose permissions can change. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { Identity } from '../../src/identity/contract.ts'
import type { Caller } from '../../src/kernel/contract.ts'
import type { DeviceEndpoint } from '../../src/kernel/device.ts'
import { Unauthenticated } from '../../src/kernel/errors.ts'
import { newId } from '../../src/kernel/ids.ts'
import { aTenantAdmin } from './builders.ts'
import { type EventSource, openEventSource } from './event-source.ts'
import type { TestPlatformOptions } from './test-platform.ts'
import { openTimeSeries } from './time-series.ts'

export async function openLive(options: Partial<TestPlatformOptions> = {}) {
  const callers = new Map<string, Caller>()
  const opened = await openTimeSeries({
    ...options,
    authenticate: (waypost) => async (headers) => {
      const { authorization } = headers
      if (!authorization?.startsWith('Test ')) return await waypost.ask(Identity).authenticate(headers)
      const caller = callers.get(authorization)
      if (!caller) throw Unauthenticated()
      return caller
    },
  })
  const { http } = opened.waypost
  await http.app.listen({ host: '127.0.0.1', port: 0 })
  const httpUrl = `http://127.0.0.1:${(http.app.server.address() as AddressInfo).port}`
  const pathOf = ({ applicationName }: { applicationName: string }, query = '') =>
    `/epts/api/v1/applications/${applicationName}/time-series/live${query}`

  const sources: EventSource[] = []
  return {
    ...opened,
    httpUrl,
    /** Closes all event streams that `open` and `watch` have opened. */
    closeAll() {
      for (const source of sources.splice(0)) source.close()
    },
    pathOf,
    /**
     * Returns headers that authenticate a caller. `replaceWith` replaces the caller for these headers; undefined makes the headers invalid.
     */
    aReplaceableCaller(caller: Caller = aTenantAdmin()) {
      const authorization = `Test ${newId()}`
      callers.set(authorization, caller)
      return {
        headers: { authorization },
        replaceWith: (other: Caller | undefined) =>
          void (other ? callers.set(authorization, other) : callers.delete(authorization)),
      }
    },
    async open(application: { applicationName: string }, headers: Record<string, string>, query = '') {
      const source = await openEventSource(httpUrl + pathOf(application, query), headers)
      sources.push(source)
      return source
    },
    async watch(endpoint: DeviceEndpoint, query = '', headers: Record<string, string> = {}) {
      const authorization = `Test ${newId()}`
      callers.set(authorization, aTenantAdmin(endpoint.tenantId))
      const source = await openEventSource(httpUrl + pathOf(endpoint, query), { authorization, ...headers })
      sources.push(source)
      assert.equal(source.status, 200, source.status === 200 ? '' : await source.text())
      await source.next('open')
      return source
    },
  }
}
