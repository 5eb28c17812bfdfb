/**
 * Runs the gateway alone (sessions, topics, tokens, dispatch), with an extension that does nothing and a traffic log that stores nothing.
 * Messages with a token that is in the cache need no database access.
 */
import { buildServices } from '../../../src/assembly/build.ts'
import { catalogue } from '../../../src/assembly/catalogue.ts'
import { openDatabase } from '../../../src/assembly/database.ts'
import { loadConfig } from '../../../src/config.ts'
import { defineService } from '../../../src/kernel/define-service.ts'
import type { Extension } from '../../../src/kernel/device.ts'
import { tuneGarbageCollection } from '../../../src/kernel/heap.ts'
import { createLog } from '../../../src/kernel/log.ts'
import { TrafficLog } from '../../../src/services/traffic-log/contract.ts'
import { answerRequests } from './serve.ts'

const { name, migrations } = catalogue.find(({ provides }) => provides === TrafficLog)!
const resolved = Promise.resolve()
const noTrafficLog = defineService({
  name,
  provides: TrafficLog,
  needs: {},
  ...(migrations && { migrations }),
  build: () => ({
    api: {
      record: () => resolved,
      recordRefusal() {},
      statistics: (sql) => sql`select 1`,
      inbound: async () => [],
      exportPage: async () => ({ records: [], next: undefined }),
    },
  }),
})
const answer = Promise.resolve({})
const nothing: Extension = { name: 'dcx', receive: () => answer }

const config = loadConfig(process.env)
const log = await createLog(config.log)
const database = await openDatabase(config, log)
const services = [...catalogue.filter(({ provides }) => provides !== TrafficLog), noTrafficLog]
const baseUrl = () => 'http://127.0.0.1'
const waypost = await buildServices({ config, connection: database.connection, log, services, baseUrl })
const built = [...waypost.built.values()]
await waypost.kit.jobs.start({ workers: true })
await waypost.kit.bus.start({ workers: true })
for (const service of built) await service.start?.()
const others = built.flatMap(({ device = [] }) => device).filter(({ name }) => name !== nothing.name)
const listeners = await Promise.all(built.flatMap((service) => service.open?.([...others, nothing]) ?? []))
const { mqttUrl } = Object.assign({}, ...listeners.map(({ addresses }) => addresses)) as { mqttUrl: string }

tuneGarbageCollection()
answerRequests(Number(new URL(mqttUrl).port), async () => {
  await Promise.all(listeners.map((listener) => listener.close()))
  for (const service of built) await service.stop?.()
  await waypost.kit.bus.stop()
  await waypost.kit.jobs.stop()
  await waypost.close()
  await database.stop()
})
