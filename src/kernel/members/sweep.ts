/** Cleans up after dead nodes. One living node at a time does this, under a lease that it renews. */
import type { Db } from '../db.ts'
import type { Log } from '../log.ts'
import { leaseRenewalFailed, sweepFailed } from '../log-messages.ts'
import * as rows from './rows.ts'
import type { OwnedRows } from './types.ts'

export interface SweepDeps {
  db: Db
  log: Log
  nodeId: string
  ownedRows: OwnedRows[]
  deadAfterSeconds: number
}

const leaseSeconds = 30

export async function sweepDead(deps: SweepDeps, ids: string[]) {
  const { db, log, nodeId, ownedRows, deadAfterSeconds } = deps
  for (const id of ids) {
    const lease = { id, by: nodeId, seconds: leaseSeconds }
    if (!(await rows.claimSweep(db.sql, lease, deadAfterSeconds))) continue
    const renewing = setInterval(() => void renew(deps, lease), (leaseSeconds * 1000) / 3).unref()
    try {
      for (const { name, sweep } of ownedRows) {
        await sweep(id)
        log.debug({ nodeId: id, rows: name }, 'cleaned up after a dead node')
      }
      await rows.deleteSwept(db.sql, lease)
    } catch (error) {
      sweepFailed(log, { err: error, nodeId: id })
      await rows.extendSweep(db.sql, { ...lease, seconds: deadAfterSeconds })
    } finally {
      clearInterval(renewing)
    }
  }
}

const renew = ({ db, log }: SweepDeps, lease: rows.SweepLease) =>
  rows.extendSweep(db.sql, lease).catch((error) => leaseRenewalFailed(log, { err: error, nodeId: lease.id }))

/** Inserts rows for nodes that own rows but are missing in `kernel.nodes`, so that they are swept like any dead node. */
export async function findUnknownOwners({ db, log, nodeId, ownedRows }: Omit<SweepDeps, 'deadAfterSeconds'>) {
  for (const { name, owners } of ownedRows) {
    const found = await owners(db.sql)
    if (found.length === 0) continue
    const nodes = await rows.insertUnknown(db.sql, found, nodeId)
    if (nodes > 0) log.info({ rows: name, nodes }, 'found rows of nodes that are gone')
  }
}
