/** Endpoints that connect and disconnect as a series of 1 and 0, where their version asks for it (instance `epl`). */
import type { ConnectivityChange, Extension } from '../../../kernel/device.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Applications } from '../../applications/contract.ts'
import { connectivityInstance, type Register } from '../../register/contract.ts'
import type { TimeSeries } from '../contract.ts'
import { connectivityNotStored } from '../log-messages.ts'

export function createConnectivitySeries(deps: {
  log: Log
  applications: Pick<Applications, 'follow'>
  register: Pick<Register, 'findAll'>
  putPoints: TimeSeries['putPoints']
}): { changed: NonNullable<Extension['connectivityChanged']> } {
  const { log, applications, register, putPoints } = deps
  const seriesOf = applications.follow(connectivityInstance, (config) => config.connectivity?.['time-series']?.name)

  async function put(name: string, all: ConnectivityChange[]) {
    const { tenantId, applicationName, versionName } = all[0]!.endpoint
    // Who is unregistered loses its connection: that is not told of somebody who is not there any more.
    const known = await register.findAll(all.map(({ endpoint }) => endpoint.endpointId))
    const points = all
      .filter(({ endpoint }) => known.has(endpoint.endpointId))
      .map(({ endpoint: { endpointId }, connected, at }) => ({
        endpointId,
        seriesName: name,
        timestamp: at.getTime(),
        values: { value: connected ? 1 : 0 },
      }))
    try {
      if (points.length > 0) await putPoints({ tenantId, applicationName, versionName }, points)
    } catch (error) {
      // An application that has too many series already would be refused for ever; all else is worth another try.
      if (!(error instanceof PlatformError) || error.status >= 500) throw error
      connectivityNotStored(log, { err: error, applicationName, versionName, series: name })
    }
  }

  return {
    async changed(changes) {
      const ofVersions = Map.groupBy(changes, ({ endpoint }) => endpoint.versionName)
      const failures: unknown[] = []
      for (const some of ofVersions.values())
        try {
          const name = await seriesOf(some[0]!.endpoint)
          if (name !== undefined) await put(name, some)
        } catch (error) {
          // The others' points are not lost by it.
          failures.push(error)
        }
      if (failures.length > 0) throw failures[0]
    },
  }
}
