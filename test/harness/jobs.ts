/** The services that jobs need, besides the services of the register fixture. */
import gateway from '../../src/gateway/index.ts'
import binaryData from '../../src/services/binary-data/index.ts'
import jobs from '../../src/services/bulk-jobs/index.ts'
import commands from '../../src/services/commands/index.ts'
import configuration from '../../src/services/configuration/index.ts'
import credentials from '../../src/services/credentials/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import trafficLog from '../../src/services/traffic-log/index.ts'

export const jobsServices = [
  tenants,
  credentials,
  trafficLog,
  gateway,
  binaryData,
  timeSeries,
  commands,
  configuration,
  jobs,
]
