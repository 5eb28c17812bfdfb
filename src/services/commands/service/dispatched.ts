/** Records the first delivery of commands and publishes an event for it, in batches. Does nothing if no service handles the event. */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { CommandDispatched } from '../events.ts'
import { dispatchedNotRecorded } from '../log-messages.ts'
import { type CommandKey, updateDispatched } from '../store/invocations.ts'
import type { EndpointKey, OutstandingRow } from '../store/outstanding.ts'
import { parsed } from './values.ts'

const batchMax = 500

export interface Dispatched {
  /** Records a delivery. It returns before the delivery is stored. */
  record(endpoint: EndpointKey, commands: OutstandingRow[]): void
  settled(): Promise<void>
}

export function createDispatched({ db, bus, log }: Pick<Kit, 'db' | 'bus' | 'log'>): Dispatched {
  const running = new Set<Promise<unknown>>()
  const write = createBatcher<CommandKey[], true>(async (groups) => {
    await db.tx(async (sql) => {
      const first = await updateDispatched(sql, groups.flat())
      await bus.publishAll(
        sql,
        CommandDispatched,
        first.map(({ payload, ...command }) => ({
          ...command,
          ...(payload !== null && { requestPayload: parsed(payload) }),
        })),
        { thisNodeOnly: true },
      )
    })
    return groups.map(() => true)
  }, batchMax)
  return {
    record({ tenantId, endpointId }, commands) {
      if (!bus.isWanted(CommandDispatched, { tenantId, endpointId })) return
      const keys = commands.map(({ id }) => ({ tenantId, endpointId, commandId: id }))
      const run = write(keys)
        .catch((error) => dispatchedNotRecorded(log, { err: error, endpointId }))
        .finally(() => running.delete(run))
      running.add(run)
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
