/** What the tests of time series share: the service over a real database, with those that it asks beside it. */
import assert from 'node:assert/strict'
import identity from '../../src/identity/index.ts'
import type { DeviceEndpoint, DeviceMessage } from '../../src/kernel/device.ts'
import { newId, newShortToken } from '../../src/kernel/ids.ts'
import applications from '../../src/services/applications/index.ts'
import { TimeSeries } from '../../src/services/time-series/contract.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import type { Value } from '../../src/services/time-series/pack/chunk.ts'
import { valuesOf } from '../../src/services/time-series/write/rows.ts'
import { aTenantAdmin } from './builders.ts'
import { type HouseOptions, openHouse } from './house.ts'
import { addRealms } from './realm-state.ts'

export const messageOf = (endpoint: DeviceEndpoint, receivedAt = new Date()): DeviceMessage => ({
  endpoint,
  extension: 'dcx',
  resourcePath: '/json',
  payload: Buffer.alloc(0),
  receivedAt,
  correlationId: newId(),
})

export async function openTimeSeries(options: Partial<HouseOptions> = {}) {
  const house = await openHouse({ ...options, services: [identity, applications, timeSeries] })
  if (!options.connection) await addRealms(house, 'platform', 'default', 'other')
  const admin = house.as(aTenantAdmin())
  const api = house.ask(TimeSeries)
  const { sql } = house.kit.db

  async function configure(applicationName: string, configuration: object) {
    const body = { epts: { platform: { applications: { [applicationName]: configuration } } } }
    const answer = await admin(`PUT /api/v1/app-configs/applications/${applicationName}`, body)
    assert.ok(answer.status < 300, answer.text)
  }

  return {
    house,
    admin,
    api,
    sql,
    configure,
    /** Of an application of its own, with this configuration of `epts`. */
    async endpoint(configuration?: object): Promise<DeviceEndpoint> {
      const applicationName = `app-${newShortToken(8).toLowerCase()}`
      const created = await admin('POST /api/v1/applications', { name: applicationName })
      assert.equal(created.status, 201, created.text)
      const version = await admin(`POST /api/v1/applications/${applicationName}/app-versions`, { nameSuffix: 'v1' })
      assert.equal(version.status, 201, version.text)
      if (configuration) await configure(applicationName, configuration)
      return { tenantId: 'default', applicationName, versionName: `${applicationName}-v1`, endpointId: newId() }
    },
    collect: (endpoint: DeviceEndpoint, samples: unknown[]) => api.collect(messageOf(endpoint), samples),
    async hotRows({ endpointId }: DeviceEndpoint) {
      const series = await sql`select series_id, name, value_name from time_series.series`
      const names = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, `${name}/${valueName}`]))
      const rows = await sql`
        select ts, v, x, series_ids from time_series.samples
        join time_series.endpoints using (endpoint_no) join time_series.sets using (set_id)
        where endpoint_id = ${endpointId} order by ts, slot, written`
      return rows.map(({ ts, v, x, seriesIds }) => {
        const values: Value[] = valuesOf(v, x)
        return { ts, values: Object.fromEntries(values.map((value, place) => [names.get(seriesIds[place]), value])) }
      })
    },
  }
}
