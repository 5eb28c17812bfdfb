/** Derives from the configuration of instance `epts` which series are extracted from a sample (document 3, part 3). */
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { type TimeSeriesConfiguration, timeSeriesInstance } from '../configuration.ts'

export type ValueType = 'number' | 'string' | 'boolean'

export interface PlannedValue {
  path: string[]
  name: string
  type: ValueType | undefined
}

export interface PlannedSeries {
  name: string
  values: PlannedValue[]
}

export type TimeFormat = 'millis-unix-epoch' | 'unix-epoch' | 'iso8601' | 'any'

export interface Plan {
  auto: boolean
  series: PlannedSeries[]
  time: { path: string[]; format: TimeFormat; fallback: 'server-timestamp' | 'fail' }
}

export interface ExtractionPlans {
  /** Returns the plan. It is returned without a promise if it is cached. */
  planOf(version: ApplicationVersionRef): Plan | Promise<Plan>
}

/** Creates the cache of plans. A change of the configuration invalidates a plan. */
export const createExtractionPlans = (applications: Pick<Applications, 'derivedConfiguration'>): ExtractionPlans => ({
  planOf: applications.derivedConfiguration(timeSeriesInstance, planOf),
})

export function planOf(config: TimeSeriesConfiguration): Plan {
  const { 'auto-extract': auto = true, names = {}, timestamp } = config['time-series'] ?? {}
  return {
    auto,
    series: Object.entries(names).map(([name, { values }]) => ({
      name,
      values: values.map((value) => ({ path: partsOf(value.path), name: value.name, type: value.type })),
    })),
    time: {
      path: partsOf(timestamp?.path ?? 'timestamp'),
      format: timestamp?.format ?? 'any',
      fallback: timestamp?.['fallback-strategy'] ?? 'server-timestamp',
    },
  }
}

/** Splits `a.b[0]` and `$.a.b.0` into the same parts. */
function partsOf(path: string): string[] {
  const bare = path.startsWith('$.') ? path.slice(2) : path
  return bare.replace(/\[(\d+)\]/g, '.$1').split('.')
}
