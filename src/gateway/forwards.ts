/**
 * Pushes to the process that has the connection of an endpoint. What is too large for a message between processes waits in a row
 * until it is taken. For one endpoint they arrive in the order of sending.
 */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { inOrder, type Push } from '../kernel/device.ts'
import { PushForwarded } from './events.ts'
import * as store from './store/forwarded.ts'

export interface Forward {
  tenantId: string
  endpointId: string
  push: Push
  /** How many processes had it before. */
  hops: number
}

export interface Forwards {
  /** Nobody waits for its word. */
  send(to: string, forward: Forward): Promise<void>
}

/** What fits into one message, with all around it. */
const bytesMax = 6000
const keptSeconds = 60

export function createForwards(
  {
    db,
    bus,
    secrets,
    now,
    newId,
    log,
    nodeId,
  }: Pick<Kit, 'db' | 'bus' | 'secrets' | 'now' | 'newId' | 'log'> & {
    nodeId: string
  },
  arrived: (forward: Forward) => void,
): Forwards {
  const ordered = inOrder()

  async function take(pushId: string): Promise<Push | undefined> {
    const sealed = await store.takeForwarded(db.sql, pushId)
    return sealed === undefined ? undefined : (JSON.parse(secrets.open(sealed)) as Push)
  }

  bus.hear(PushForwarded, ({ nodeId: to, push, pushId, ...forward }) => {
    if (to !== nodeId) return
    const { endpointId } = forward
    ordered(endpointId, async () => {
      const taken = push ?? (await take(pushId!))
      if (taken) arrived({ ...forward, push: taken })
    }).catch((error) => log.error({ err: error, endpointId }, 'what another process had for an endpoint was lost'))
  })

  return {
    async send(to, { push, ...forward }) {
      const text = JSON.stringify(push)
      const isLarge = Buffer.byteLength(text) > bytesMax
      const pushId = newId()
      await db.tx(async (sql) => {
        if (isLarge) await store.saveForwarded(sql, pushId, secrets.seal(text), now())
        await bus.publish(sql, PushForwarded, { ...forward, nodeId: to, ...(isLarge ? { pushId } : { push }) })
      })
    },
  }
}

/** For a periodic task. */
export async function sweepForwarded(sql: Sql, now: Date) {
  await store.deleteForwarded(sql, new Date(now.getTime() - keptSeconds * 1000))
}
