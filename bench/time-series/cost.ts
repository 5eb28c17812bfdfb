/** Splits the processor time of a message into the time of the load generator, of the platform, and of each kind of database process. */
import type { RunResult } from '../gateway/load.ts'
import { type BenchPlatform, benchConnectionName } from './bench-platform.ts'

export interface Process {
  pid: number
  kind: string
}

/** Lists processes. The kind of a database connection is its application name; other processes of PostgreSQL report their type. */
export async function processesOf({ platform, db: { sql } }: BenchPlatform): Promise<Process[]> {
  const rows = await sql`
    select pid, case backend_type when 'client backend' then application_name else backend_type end::text as kind
    from pg_stat_activity where application_name <> ${benchConnectionName} order by 2, 1`
  return [
    { pid: platform.pid, kind: node },
    ...rows.map(({ pid, kind }) => ({ pid: pid as number, kind: kind as string })),
  ]
}

const node = 'Node.js'

export interface Cost {
  load: number
  node: number
  database: number
  /** Processor time of the database by kind of process. */
  kinds: [kind: string, microseconds: number][]
}

/** Returns the microseconds per message. */
export function costOf(processes: Process[], { messages, cpuSeconds, loadCpuSeconds }: RunResult): Cost {
  const perMessage = (seconds: number) => (seconds * 1e6) / messages
  const byKind = new Map<string, number>()
  for (const [index, { kind }] of processes.entries())
    byKind.set(kind, (byKind.get(kind) ?? 0) + perMessage(cpuSeconds[index]!))
  const kinds = [...byKind].filter(([kind]) => kind !== node).toSorted((a, b) => b[1] - a[1])
  return {
    load: perMessage(loadCpuSeconds),
    node: byKind.get(node)!,
    database: kinds.reduce((sum, [, value]) => sum + value, 0),
    kinds,
  }
}

export const costText = ({ load, node: platform, database, kinds }: Cost) =>
  `µs a message: load ${load.toFixed(1)}, Node.js ${platform.toFixed(1)}, PostgreSQL ${database.toFixed(1)} (` +
  `${kinds
    .filter(([, value]) => value >= 0.05)
    .map(([kind, value]) => `${kind} ${value.toFixed(1)}`)
    .join(', ')})`
