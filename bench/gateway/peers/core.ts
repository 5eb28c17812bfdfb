/**
 * The gateway itself: sessions, topics, tokens, dispatch, with an extension that does nothing and a traffic log that stores nothing. Once
 * a token is known, no message touches the database.
 */
import { buildHouse } from '../../../src/assembly/build.ts'
import { catalogue } from '../../../src/assembly/catalogue.ts'
import { openDatabase } from '../../../src/assembly/database.ts'
import { loadConfig } from '../../../src/config.ts'
import { defineService } from '../../../src/kernel/define-service.ts'
import type { Extension } from '../../../src/kernel/device.ts'
import { collectSeldom } from '../../../src/kernel/heap.ts'
import { createLog } from '../../../src/kernel/log.ts'
import { TrafficLog } from '../../../src/services/traffic-log/contract.ts'
import { answerRequests } from './serve.ts'

const { name, migrations } = catalogue.find(({ provides }) => provides === TrafficLog)!
const kept = Promise.resolve()
const noTrafficLog = defineService({
  name,
  provides: TrafficLog,
  needs: {},
  ...(migrations && { migrations }),
  build: () => ({ api: { record: () => kept, refuse() {} } }),
})
const answer = Promise.resolve({})
const nothing: Extension = { name: 'dcx', receive: () => answer }

const config = loadConfig(process.env)
const log = await createLog(config.log)
const database = await openDatabase(config, log)
const services = [...catalogue.filter(({ provides }) => provides !== TrafficLog), noTrafficLog]
const baseUrl = () => 'http://127.0.0.1'
const house = await buildHouse({ config, connection: database.connection, log, services, baseUrl })
const built = [...house.built.values()]
await house.kit.jobs.start({ workers: true })
await house.kit.bus.start({ workers: true })
for (const service of built) await service.start?.()
const others = built.flatMap(({ device = [] }) => device).filter(({ name }) => name !== nothing.name)
const doors = await Promise.all(built.flatMap((service) => service.open?.([...others, nothing]) ?? []))
const { mqttUrl } = Object.assign({}, ...doors.map(({ addresses }) => addresses)) as { mqttUrl: string }

collectSeldom()
answerRequests(Number(new URL(mqttUrl).port), async () => {
  await Promise.all(doors.map((door) => door.close()))
  for (const service of built) await service.stop?.()
  await house.kit.bus.stop()
  await house.kit.jobs.stop()
  await house.close()
  await database.stop()
})
