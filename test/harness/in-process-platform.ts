/** Runs the whole platform in the process of the test, on free ports, so that a test can replace single services. */
import { type Bootstrap, writeBootstrapFile } from '../../src/assembly/bootstrap.ts'
import type { BuiltServices } from '../../src/assembly/build.ts'
import { catalogue } from '../../src/assembly/catalogue.ts'
import { startPlatform } from '../../src/assembly/start.ts'
import { loadConfig } from '../../src/config.ts'
import type { AnyService } from '../../src/kernel/define-service.ts'
import { createLog } from '../../src/kernel/log.ts'
import { type Ask, bearer, client, tokenOf } from './client.ts'
import { afterAllTests, temporaryDirectory } from './database.ts'
import { migratedDatabase } from './test-platform.ts'

export interface InProcessPlatform {
  waypost: BuiltServices
  baseUrl: string
  mqttUrl: string
  addresses: Record<string, string>
  bootstrap: Bootstrap
  /** The data directory, with bootstrap.json in it. */
  directory: string
  /** Sends requests as the backend client of the tenant `default`. */
  ask: Ask
}

/** @param stubs replace the services of the same name */
export async function openInProcessPlatform(
  environment: Record<string, string> = {},
  stubs: AnyService[] = [],
): Promise<InProcessPlatform> {
  const directory = temporaryDirectory()
  const config = loadConfig({
    WAYPOST_DATA: directory,
    WAYPOST_PORT: '0',
    WAYPOST_MANAGEMENT_PORT: '0',
    WAYPOST_MQTT_PORT: '0',
    WAYPOST_MQTTS_PORT: '0',
    WAYPOST_LOG_LEVEL: 'error',
    ...environment,
  })
  const services = catalogue.map((service) => stubs.find(({ name }) => name === service.name) ?? service)
  const database = { connection: await migratedDatabase(services), stop: async () => {} }
  const log = await createLog(config.log)
  const platform = await startPlatform(config, log, Promise.resolve(database), undefined, services)
  afterAllTests(() => platform.stop())
  const { platformServices: waypost, baseUrl, managementUrl, addresses, bootstrap } = platform
  writeBootstrapFile(directory, { baseUrl, ...addresses, managementUrl, ...bootstrap })
  const { tenantId, backendClient } = bootstrap.default
  const grant = { grant_type: 'client_credentials', client_id: backendClient.id, client_secret: backendClient.secret }
  // Tests use the HTTP address, because `fetch` does not trust the certificate that the platform presents over HTTPS.
  const plainUrl = addresses.httpUrl ?? baseUrl
  const ask = client(plainUrl, bearer(await tokenOf(plainUrl, tenantId, grant)))
  return { waypost, baseUrl, addresses, bootstrap, mqttUrl: addresses.mqttUrl!, directory, ask }
}
