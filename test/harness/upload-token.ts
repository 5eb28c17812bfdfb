/** An upload token of a running platform, given out by the service itself beside it, as the gateway would. */
import { join } from 'node:path'
import { buildHouse } from '../../src/assembly/build.ts'
import { catalogue } from '../../src/assembly/catalogue.ts'
import { loadConfig } from '../../src/config.ts'
import { connectEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { createLog } from '../../src/kernel/log.ts'
import { BinaryData } from '../../src/services/binary-data/contract.ts'

export async function uploadTokenOf(
  { directory }: { directory: string },
  endpoint: { tenantId: string; applicationName: string; endpointId: string },
): Promise<string> {
  const connection = await connectEmbeddedPostgres(join(directory, 'postgres'))
  if (!connection) throw new Error(`no platform runs on ${directory}`)
  const config = loadConfig({ WAYPOST_DATA: directory, WAYPOST_LOG_LEVEL: 'fatal' })
  const log = await createLog(config.log)
  const house = await buildHouse({ config, connection, log, services: catalogue, baseUrl: () => '' })
  try {
    return await house.ask(BinaryData).issueUploadToken({ ...endpoint, versionName: '' })
  } finally {
    for (const service of house.built.values()) await service.stop?.()
    await house.close()
  }
}
