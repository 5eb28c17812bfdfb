import type { Kit } from '../../../kernel/define-service.ts'
import type { Applications } from '../../applications/contract.ts'
import type { TimeSeries } from '../../time-series/contract.ts'
import type { TrafficLog } from '../../traffic-log/contract.ts'
import type { IngestSettings } from '../settings.ts'
import type { PipelinePool } from '../workers/pool.ts'
import type { PipelineSets } from './pipeline-sets.ts'

export interface Needs {
  applications: Applications
  timeSeries: TimeSeries
  trafficLog: TrafficLog
}

export interface Deps extends Needs {
  kit: Kit<IngestSettings>
  pool: PipelinePool
  sets: PipelineSets
}
