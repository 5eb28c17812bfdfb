import { findRuns } from '../../kernel/backup/history.ts'
import { readDatabaseStatus, readNodes, readQueueStatus } from '../../kernel/database-status.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createUsage } from './usage.ts'

type Deps = Pick<
  Kit,
  'db' | 'members' | 'signals' | 'descriptors' | 'diskSpace' | 'version' | 'settingsInEffect' | 'baseUrl'
>

/** A node without a heartbeat for this time is shown as `gone`. Nodes write a heartbeat every second. */
const deadAfterSeconds = 5
const runsShown = 100

export type PlatformService = ReturnType<typeof createPlatform>

export function createPlatform(kit: Deps) {
  const { db, members, version, settingsInEffect, baseUrl } = kit
  const usage = createUsage(kit)
  return {
    async summary() {
      const nodes = await readNodes(db.sql)
      const alive = nodes.filter((node) => isAlive(node))
      const [lastBackup] = (await findRuns(db.sql, runsShown)).filter(
        ({ kind, problem }) => kind === 'backup' && problem === null,
      )
      return {
        version,
        runtime: `Node.js ${process.version}`,
        baseUrl: baseUrl(),
        nodes: alive.length,
        versions: [...new Set(alive.map((node) => node.version))].toSorted(),
        diskLow: kit.diskSpace.isLow,
        ...(lastBackup && { lastBackupAt: lastBackup.finishedAt }),
      }
    },
    async nodes() {
      const rows = await readNodes(db.sql)
      return await Promise.all(
        rows.map(async (row) => {
          const known = isAlive(row) ? await usage.read(row.id) : undefined
          const { gone: _, ...node } = row
          return {
            ...node,
            state: isAlive(row) ? ('alive' as const) : ('gone' as const),
            current: row.id === members.nodeId,
            ...(known && { usage: known }),
          }
        }),
      )
    },
    database: () => readDatabaseStatus(db.sql),
    queues: () => readQueueStatus(db.sql),
    backups: () => findRuns(db.sql, runsShown),
    settings: () => settingsInEffect,
  }
}

const isAlive = ({ gone, secondsSinceHeartbeat }: { gone: boolean; secondsSinceHeartbeat: number }) =>
  !gone && secondsSinceHeartbeat < deadAfterSeconds
