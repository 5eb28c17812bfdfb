/** Starts several nodes on one database within this process, each with all services and its own MQTT port. */
import { buildServices } from '../../../src/assembly/build.ts'
import { catalogue } from '../../../src/assembly/catalogue.ts'
import { openDatabase } from '../../../src/assembly/database.ts'
import { loadConfig } from '../../../src/config.ts'
import { createLog } from '../../../src/kernel/log.ts'

const config = loadConfig(process.env)
const log = await createLog(config.log)
export const database = await openDatabase(config, log)

export async function startNode() {
  const options = { config, connection: database.connection, log, services: catalogue }
  const waypost = await buildServices({ ...options, baseUrl: () => 'http://127.0.0.1' })
  const built = [...waypost.built.values()]
  await waypost.kit.jobs.start({ workers: true })
  await waypost.kit.bus.start({ workers: true })
  for (const service of built) await service.start?.()
  const extensions = built.flatMap(({ device = [] }) => device)
  const listeners = await Promise.all(built.flatMap((service) => service.open?.(extensions) ?? []))
  const { mqttUrl } = Object.assign({}, ...listeners.map(({ addresses }) => addresses)) as { mqttUrl: string }
  return {
    waypost,
    port: Number(new URL(mqttUrl).port),
    async stop() {
      await Promise.all(listeners.map((listener) => listener.close()))
      for (const service of built) await service.stop?.()
      await waypost.kit.bus.stop()
      await waypost.kit.jobs.stop()
      await waypost.close()
    },
  }
}

export type Node = Awaited<ReturnType<typeof startNode>>
