/** Writes deliveries. The writes of a few milliseconds share a commit. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { createGroupCommit, type Group } from '../../../kernel/group-commit.ts'
import type { EndedAction, EndedActions } from '../engine/traces.ts'
import * as store from './store.ts'

export interface EndedDelivery extends EndedAction {
  id: string
}

export interface DeliveryWrites {
  /** Stores a delivery. Resolves to false if an earlier run of the same event has already stored it. */
  insert(delivery: store.NewDelivery): Promise<boolean>
  /** Records a failed attempt. Like `end`, it resolves to false if the delivery belongs to another node or was deleted. */
  failed(attempt: store.FailedAttempt): Promise<boolean>
  /** Deletes the delivery and writes the trace of its action. */
  end(delivery: EndedDelivery): Promise<boolean>
  drained(): Promise<void>
}

/** The rows of one write, and the ids of the rows that were written. */
interface Rows<T> extends Group {
  items: Map<string, T>
  add(id: string, item: T, bytes: number): void
  done: Set<string>
}

const fullBytes = 4 * 1024 * 1024
const fullCount = 500

function createRows<T>(): Rows<T> {
  const items = new Map<string, T>()
  let bytes = 0
  return {
    items,
    done: new Set(),
    add(id, item, size) {
      items.set(id, item)
      bytes += size
    },
    get count() {
      return items.size
    },
    get bytes() {
      return bytes
    },
    get isFull() {
      return bytes > fullBytes || items.size >= fullCount
    },
  }
}

type WritesKit = Pick<Kit, 'db' | 'members' | 'log' | 'metrics'>

export function createDeliveryWrites(kit: WritesKit, traces: EndedActions): DeliveryWrites {
  const { db, members } = kit
  const { nodeId } = members
  const inserts = groupCommit<store.NewDelivery>(
    kit,
    { name: 'rule_deliveries', everyMs: 3 },
    async (rows, attempt) => {
      const ids = [...rows.items.keys()]
      const stored = await store.insertDeliveries(db.sql, nodeId, [...rows.items.values()])
      // An earlier attempt may have been committed although its answer was lost.
      return attempt === 0 ? stored : await store.findOwned(db.sql, nodeId, ids)
    },
  )
  const failures = groupCommit<store.FailedAttempt>(kit, { name: 'rule_delivery_attempts', everyMs: 15 }, (rows) =>
    store.updateAttempts(db.sql, nodeId, [...rows.items.values()]),
  )
  const ends = groupCommit<EndedDelivery>(kit, { name: 'rule_delivery_ends', everyMs: 15 }, async (rows, attempt) => {
    const ids = await db.tx((sql) => endAll(sql, nodeId, rows.items, traces))
    return attempt === 0 ? ids : [...rows.items.keys()]
  })
  return {
    insert: (delivery) => inserts.write(delivery.id, delivery, delivery.content.length + 1000),
    failed: (attempt) => failures.write(attempt.id, attempt, attempt.attempts.length + 100),
    end: (delivery) => ends.write(delivery.id, delivery, 2000),
    async drained() {
      await Promise.all([inserts.drained(), failures.drained(), ends.drained()])
    },
  }
}

async function endAll(sql: Sql, nodeId: string, ended: Map<string, EndedDelivery>, traces: EndedActions) {
  const ids = await store.deleteDeliveries(sql, nodeId, [...ended.keys()])
  await traces.ended(
    sql,
    ids.map((id) => ended.get(id)!),
  )
  return ids
}

function groupCommit<T>(
  { log, metrics }: WritesKit,
  { name, everyMs }: { name: string; everyMs: number },
  write: (rows: Rows<T>, attempt: number) => Promise<string[]>,
) {
  const commit = createGroupCommit<Rows<T>>({
    name,
    create: createRows,
    async write(rows, attempt) {
      for (const id of await write(rows, attempt)) rows.done.add(id)
    },
    isTemporary: (error) => !/^(22|23|54)/.test((error as { code?: string } | null)?.code ?? ''),
    log,
    metrics,
    everyMs,
    // One write runs at a time, so that deliveries start in the order in which they were added.
    concurrentWrites: 1,
    pendingBytesMax: 128 * 1024 * 1024,
  })
  return {
    async write(id: string, item: T, bytes: number): Promise<boolean> {
      const rows = commit.current()
      if (rows.items.has(id)) return false
      rows.add(id, item, bytes)
      await commit.committed()
      return rows.done.has(id)
    },
    drained: commit.drained,
  }
}
