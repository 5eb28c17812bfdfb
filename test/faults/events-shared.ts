import { defineEvent } from '../../src/kernel/bus.ts'
import type { ConnectionOptions } from '../../src/kernel/db.ts'

export const Happened = defineEvent<{ tenantId: string; key: string; n: number }>('faults.events.happened', {
  description: 'for tests',
  key: ({ key }) => key,
})

export interface WorkerTask {
  connection: ConnectionOptions
  /** Name of this process run; each restart gets a new name. */
  name: string
}

export type WorkerReport = { started: true } | { settled: true } | { reset: true } | { events: string[] }
