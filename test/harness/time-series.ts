/** Fixture of the time series tests: the service and the services that it needs, over a real database. */

import assert from 'node:assert/strict'
import gateway from '../../src/gateway/index.ts'
import identity from '../../src/identity/index.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import type { DeviceEndpoint, DeviceMessage } from '../../src/kernel/device.ts'
import { newId, newShortToken } from '../../src/kernel/ids.ts'
import { Applications } from '../../src/services/applications/contract.ts'
import applications from '../../src/services/applications/index.ts'
import credentials from '../../src/services/credentials/index.ts'
import register from '../../src/services/register/index.ts'
import { TimeSeries } from '../../src/services/time-series/contract.ts'
import { createRetention } from '../../src/services/time-series/delete/retention.ts'
import { registerEventHandlers } from '../../src/services/time-series/event-handlers.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import type { Value } from '../../src/services/time-series/points.ts'
import { valuesInRecord } from '../../src/services/time-series/record.ts'
import { routes } from '../../src/services/time-series/routes.ts'
import { createTimeSeries, type TimeSeriesService } from '../../src/services/time-series/service.ts'
import { valuesOf } from '../../src/services/time-series/write/rows.ts'
import tokens from '../../src/services/tokens/index.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'
import { aTenantAdmin } from './builders.ts'
import { addRealms } from './realm-state.ts'
import { readPoints } from './series-reader.ts'
import { openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const messageOf = (endpoint: DeviceEndpoint, receivedAt = new Date()): DeviceMessage => ({
  endpoint,
  extension: 'dcx',
  resourcePath: '/json',
  payload: Buffer.alloc(0),
  receivedAt,
  correlationId: newId(),
})

export async function openTimeSeries(options: Partial<TestPlatformOptions> = {}) {
  let service!: TimeSeriesService
  /** The real service, except that slots end and are packed only when a test calls `pack`. */
  const withoutBackgroundWork = defineService({
    ...timeSeries,
    build(kit, { applications: needed, register: registered }) {
      service = createTimeSeries(kit, { applications: needed, register: registered })
      registerEventHandlers(kit.bus, service)
      return {
        api: service.api,
        http: [{ name: 'timeseries', roots: ['/epts'], routes: (http) => routes(http, service) }],
        async start() {
          await service.slots.current()
          await service.latest.start()
          await service.live.start()
        },
        stop: service.stop,
      }
    },
  })
  const waypost = await openTestPlatform({
    ...options,
    services: [identity, applications, tokens, register, credentials, trafficLog, gateway, withoutBackgroundWork],
  })
  if (!options.connection) await addRealms(waypost, 'platform', 'default', 'other')
  const admin = waypost.as(aTenantAdmin())
  const api = waypost.ask(TimeSeries)
  const { sql } = waypost.kit.db

  async function configure(applicationName: string, configuration: object) {
    const body = { epts: { platform: { applications: { [applicationName]: configuration } } } }
    const answer = await admin(`PUT /api/v1/app-configs/applications/${applicationName}`, body)
    assert.ok(answer.status < 300, answer.text)
  }

  return {
    waypost,
    service,
    /** Creates a retention task that has not run today. */
    retention: () => createRetention({ ...waypost.kit, applications: waypost.ask(Applications) }),
    points: (endpointId: string) => readPoints(sql, endpointId),
    /** Ends the open slot, packs closed slots and drops packed slots. */
    async pack() {
      await service.slots.rotate(true)
      await service.packer.round()
    },
    admin,
    api,
    sql,
    configure,
    /** Creates an application with this configuration of `epts`, and returns an endpoint of it that is not in the register. */
    async unregisteredEndpoint(configuration?: object): Promise<DeviceEndpoint> {
      const applicationName = `app-${newShortToken(8).toLowerCase()}`
      const created = await admin('POST /api/v1/applications', { name: applicationName })
      assert.equal(created.status, 201, created.text)
      const version = await admin(`POST /api/v1/applications/${applicationName}/app-versions`, { nameSuffix: 'v1' })
      assert.equal(version.status, 201, version.text)
      if (configuration) await configure(applicationName, configuration)
      return { tenantId: 'default', applicationName, versionName: `${applicationName}-v1`, endpointId: newId() }
    },
    /** Registers an endpoint with the application version of another endpoint. */
    async registerEndpoint(version: DeviceEndpoint, endpointId: string = newId()): Promise<DeviceEndpoint> {
      const body = { endpointId, appVersion: { name: version.versionName } }
      const answer = await admin('POST /epr/api/v1/endpoints', body)
      assert.equal(answer.status, 201, answer.text)
      return { ...version, endpointId }
    },
    async unregister({ endpointId }: DeviceEndpoint) {
      const answer = await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)
      assert.equal(answer.status, 204, answer.text)
    },
    collect: (endpoint: DeviceEndpoint, samples: unknown[]) => api.collect(messageOf(endpoint), samples),
    async hotRows({ endpointId }: DeviceEndpoint) {
      const series = await sql`select series_id, name, value_name from time_series.series`
      const names = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, `${name}/${valueName}`]))
      const rows = await sql`
        select ts, record, x, series_ids from time_series.samples
        join time_series.endpoints using (endpoint_no) join time_series.sets using (set_id)
        where endpoint_id = ${endpointId} order by ts, slot, written`
      return rows.map(({ ts, record, x, seriesIds }) => {
        const values: Value[] = valuesOf(valuesInRecord(record), x)
        return { ts, values: Object.fromEntries(values.map((value, index) => [names.get(seriesIds[index]), value])) }
      })
    },
  }
}
