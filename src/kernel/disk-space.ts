/** Watches the free space of the disks. Below a minimum, changes are refused until there is space again. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { Db } from './db.ts'
import type { Log } from './log.ts'
import { diskSpaceLow, diskSpaceUnknown } from './log-messages.ts'
import type { Metrics } from './metrics.ts'

export interface DiskSpace {
  /** True while a disk has less free space than the minimum. */
  readonly isLow: boolean
  /** Returns the disks as of the last check. */
  volumes(): { name: string; freeBytes: number; totalBytes: number; low: boolean }[]
  /** Checks the disks now, then every second until the returned function is called. */
  watch(): Promise<() => void>
  /** Health check. It never fails, because requests that only read still work without free space. */
  check(): Promise<Record<string, unknown>>
}

/** A directory whose disk is watched. */
interface Volume {
  name: string
  directory: string
}

const checkEveryMs = 1000
/**
 * Changes are accepted again when the free space exceeds the minimum by 5 %, or by this number of bytes, whichever is less. Without this
 * margin, changes would be accepted and refused alternately.
 */
const recoveryBytesMax = 50_000_000

export function createDiskSpace(options: {
  /** Directories of this program. Missing directories are ignored. */
  volumes: Volume[]
  db: Pick<Db, 'sql'>
  minBytes: number
  log: Log
  metrics: Metrics
}): DiskSpace {
  const { minBytes, log, metrics } = options
  let volumes: Volume[] = []
  const free = new Map<string, number>()
  const total = new Map<string, number>()
  let isLow = false
  metrics.gauge('waypost_disk_free_bytes', 'Free bytes of the disk of a directory.', ['volume'], (gauge) => {
    for (const [volume, bytes] of free) gauge.set({ volume }, bytes)
  })
  metrics.gauge('waypost_disk_low', '1 while changes are refused because a disk has too little space.', [], (gauge) => {
    gauge.set(isLow ? 1 : 0)
  })

  async function readFree({ name, directory }: Volume) {
    try {
      const { bavail, blocks, bsize } = await statfs(directory)
      free.set(name, bavail * bsize)
      total.set(name, blocks * bsize)
    } catch (error) {
      free.delete(name)
      diskSpaceUnknown(log, { err: error, volume: name, directory })
      volumes = volumes.filter((volume) => volume.name !== name)
    }
  }

  async function checkAll() {
    await Promise.all(volumes.map(readFree))
    const least = Math.min(...free.values())
    const wasLow = isLow
    isLow = minBytes > 0 && least < (isLow ? minBytes + Math.min(minBytes / 20, recoveryBytesMax) : minBytes)
    if (isLow && !wasLow) diskSpaceLow(log, { free: Object.fromEntries(free), minBytes })
    if (!isLow && wasLow) log.info({ free: Object.fromEntries(free) }, 'disks have space again; changes are accepted')
  }

  return {
    get isLow() {
      return isLow
    },
    volumes: () =>
      Array.from(free, ([name, freeBytes]) => ({
        name,
        freeBytes,
        totalBytes: total.get(name) ?? 0,
        low: freeBytes < minBytes,
      })),
    async watch() {
      const database = await databaseDirectory(options.db)
      volumes = options.volumes.filter(({ directory }) => existsSync(directory))
      if (database !== undefined && existsSync(database) && !volumes.some(({ name }) => name === 'database'))
        volumes.push({ name: 'database', directory: database })
      await checkAll()
      let running = false
      const timer = setInterval(() => {
        if (running) return
        running = true
        void checkAll().finally(() => {
          running = false
        })
      }, checkEveryMs).unref()
      return () => clearInterval(timer)
    },
    check: async () => ({ low: isLow, minBytes, free: Object.fromEntries(free) }),
  }
}

/** Returns the directory of the database if it is on this machine and the database role may read the path. */
async function databaseDirectory({ sql }: Pick<Db, 'sql'>): Promise<string | undefined> {
  const [server] = await sql<{ isLocal: boolean; mayRead: boolean }[]>`
    select coalesce(inet_server_addr() << '127.0.0.0/8' or inet_server_addr() = '::1', true) as is_local,
      pg_has_role('pg_read_all_settings', 'usage') as may_read`
  if (!server?.isLocal || !server.mayRead) return undefined
  const [row] = await sql<{ directory: string }[]>`select current_setting('data_directory') as directory`
  return row?.directory
}
