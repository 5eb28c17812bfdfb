/** Nodes on one database in this process, each with all services and its own MQTT port. */
import { buildHouse } from '../../../src/assembly/build.ts'
import { catalogue } from '../../../src/assembly/catalogue.ts'
import { openDatabase } from '../../../src/assembly/database.ts'
import { loadConfig } from '../../../src/config.ts'
import { createLog } from '../../../src/kernel/log.ts'

const config = loadConfig(process.env)
const log = await createLog(config.log)
export const database = await openDatabase(config, log)

export async function startNode() {
  const options = { config, connection: database.connection, log, services: catalogue }
  const house = await buildHouse({ ...options, baseUrl: () => 'http://127.0.0.1' })
  const built = [...house.built.values()]
  await house.kit.jobs.start({ workers: true })
  await house.kit.bus.start({ workers: true })
  for (const service of built) await service.start?.()
  const extensions = built.flatMap(({ device = [] }) => device)
  const doors = await Promise.all(built.flatMap((service) => service.open?.(extensions) ?? []))
  const { mqttUrl } = Object.assign({}, ...doors.map(({ addresses }) => addresses)) as { mqttUrl: string }
  return {
    house,
    port: Number(new URL(mqttUrl).port),
    async stop() {
      await Promise.all(doors.map((door) => door.close()))
      for (const service of built) await service.stop?.()
      await house.kit.bus.stop()
      await house.kit.jobs.stop()
      await house.close()
    },
  }
}

export type Node = Awaited<ReturnType<typeof startNode>>
