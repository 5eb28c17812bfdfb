/**
 * The settings of all services, from their `settings.ts` files. These files are small, so `waypost help` and `config` need not load
 * services.
 */
import { gatewaySettings } from '../gateway/settings.ts'
import { identitySettings } from '../identity/settings.ts'
import { backupSettings } from '../kernel/backup/settings.ts'
import { httpsSettings } from '../kernel/http/settings.ts'
import { limitSettings } from '../kernel/limit-settings.ts'
import { mailSettings } from '../kernel/mail-settings.ts'
import { secretsSettings } from '../kernel/secrets-settings.ts'
import type { DeclaredSettings } from '../kernel/settings.ts'
import { applicationsSettings } from '../services/applications/settings.ts'
import { binaryDataSettings } from '../services/binary-data/settings.ts'
import { commandsSettings } from '../services/commands/settings.ts'
import { ingestSettings } from '../services/ingest/settings.ts'
import { liveSettings } from '../services/live/settings.ts'
import { rulesSettings } from '../services/rules/settings.ts'
import { softwareSettings } from '../services/software/settings.ts'
import { timeSeriesSettings } from '../services/time-series/settings.ts'
import { trafficLogSettings } from '../services/traffic-log/settings.ts'
import { vpnSettings } from '../services/vpn/settings.ts'
import { consoleSettings } from './console/settings.ts'

/**
 * Settings by the name of their service, or by another name if the kernel or the assembly declares them. `buildServices` rejects a service
 * whose settings are missing in this list.
 */
export const serviceSettings: Record<string, DeclaredSettings<unknown>> = {
  https: httpsSettings,
  console: consoleSettings,
  limits: limitSettings,
  secrets: secretsSettings,
  backup: backupSettings,
  mail: mailSettings,
  identity: identitySettings,
  gateway: gatewaySettings,
  applications: applicationsSettings,
  'traffic-log': trafficLogSettings,
  'time-series': timeSeriesSettings,
  'binary-data': binaryDataSettings,
  commands: commandsSettings,
  software: softwareSettings,
  ingest: ingestSettings,
  rules: rulesSettings,
  vpn: vpnSettings,
  live: liveSettings,
}
