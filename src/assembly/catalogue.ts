import gateway from '../gateway/index.ts'
import identity from '../identity/index.ts'
import type { AnyService } from '../kernel/define-service.ts'
import applications from '../services/applications/index.ts'
import assets from '../services/assets/index.ts'
import audit from '../services/audit/index.ts'
import binaryData from '../services/binary-data/index.ts'
import jobs from '../services/bulk-jobs/index.ts'
import commands from '../services/commands/index.ts'
import configuration from '../services/configuration/index.ts'
import credentials from '../services/credentials/index.ts'
import dashboards from '../services/dashboards/index.ts'
import ingest from '../services/ingest/index.ts'
import links from '../services/links/index.ts'
import live from '../services/live/index.ts'
import lorawan from '../services/lorawan/index.ts'
import platform from '../services/platform/index.ts'
import register from '../services/register/index.ts'
import rules from '../services/rules/index.ts'
import software from '../services/software/index.ts'
import tenants from '../services/tenants/index.ts'
import timeSeries from '../services/time-series/index.ts'
import timeSync from '../services/time-sync/index.ts'
import tokens from '../services/tokens/index.ts'
import trafficLog from '../services/traffic-log/index.ts'
import vpn from '../services/vpn/index.ts'

/** All services of the platform. They are built in the order of their needs. */
export const catalogue: AnyService[] = [
  identity,
  tenants,
  platform,
  audit,
  applications,
  credentials,
  tokens,
  register,
  trafficLog,
  gateway,
  binaryData,
  timeSeries,
  commands,
  configuration,
  software,
  assets,
  dashboards,
  timeSync,
  ingest,
  rules,
  vpn,
  lorawan,
  jobs,
  links,
  live,
]
