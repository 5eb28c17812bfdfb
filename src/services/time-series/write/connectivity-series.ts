/** Stores connects and disconnects as a series of 1 and 0, if the configuration of the version enables it (instance `epl`). */
import type { ConnectivityChange, Extension } from '../../../kernel/device.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Applications } from '../../applications/contract.ts'
import { connectivityInstance, type Register } from '../../register/contract.ts'
import type { TimeSeries } from '../contract.ts'
import { connectivityNotStored } from '../log-messages.ts'

export function createConnectivitySeries(deps: {
  log: Log
  applications: Pick<Applications, 'derivedConfiguration'>
  register: Pick<Register, 'findAll'>
  putPoints: TimeSeries['putPoints']
}): { changed: NonNullable<Extension['connectivityChanged']> } {
  const { log, applications, register, putPoints } = deps
  const seriesOf = applications.derivedConfiguration(
    connectivityInstance,
    (config) => config.connectivity?.['time-series']?.name,
  )

  async function put(name: string, changes: ConnectivityChange[]) {
    const { tenantId, applicationName, versionName } = changes[0]!.endpoint
    // An endpoint also disconnects when it is unregistered, but then it gets no point.
    const registered = await register.findAll(changes.map(({ endpoint }) => endpoint.endpointId))
    const points = changes
      .filter(({ endpoint }) => registered.has(endpoint.endpointId))
      .map(({ endpoint: { endpointId }, connected, at }) => ({
        endpointId,
        seriesName: name,
        timestamp: at.getTime(),
        values: { value: connected ? 1 : 0 },
      }))
    try {
      if (points.length > 0) await putPoints({ tenantId, applicationName, versionName }, points)
    } catch (error) {
      // A rejection, for example because of too many series, is final. All other errors are retried.
      if (!(error instanceof PlatformError) || error.status >= 500) throw error
      connectivityNotStored(log, { err: error, applicationName, versionName, series: name })
    }
  }

  return {
    async changed(changes) {
      const byVersion = Map.groupBy(changes, ({ endpoint }) => endpoint.versionName)
      const failures: unknown[] = []
      for (const changesOfVersion of byVersion.values())
        try {
          const name = await seriesOf(changesOfVersion[0]!.endpoint)
          if (name !== undefined) await put(name, changesOfVersion)
        } catch (error) {
          // The points of the other versions are still stored.
          failures.push(error)
        }
      if (failures.length > 0) throw failures[0]
    },
  }
}
