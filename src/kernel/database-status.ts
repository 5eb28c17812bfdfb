/** Reads the state of the database and of the queues in it, for administrators of the platform. */
import type { Sql } from './db.ts'

export interface DatabaseStatus {
  version: string
  startedAt: Date
  bytes: number
  connections: { total: number; active: number; ownConnections: number; max: number }
  longestTransactionSeconds: number
  tables: { schema: string; name: string; bytes: number; rows: number }[]
}

const tablesShown = 20

export async function readDatabaseStatus(sql: Sql): Promise<DatabaseStatus> {
  const [server] = await sql<{ version: string; startedAt: Date; bytes: number; max: number }[]>`
    select current_setting('server_version') as version, pg_postmaster_start_time() as started_at,
      pg_database_size(current_database())::float8 as bytes, current_setting('max_connections')::int as max`
  const [activity] = await sql<{ total: number; active: number; ownConnections: number; longest: number }[]>`
    select count(*)::int as total, count(*) filter (where state = 'active')::int as active,
      count(*) filter (where datname = current_database() and application_name like 'waypost%')::int as own_connections,
      coalesce(extract(epoch from clock_timestamp() - min(xact_start) filter (where datname = current_database())), 0)::float8 as longest
    from pg_stat_activity where backend_type = 'client backend'`
  // The sizes of partitions are added to the size of their table. Row numbers are PostgreSQL's estimates.
  const tables = await sql<DatabaseStatus['tables']>`
    with sizes as (
      select coalesce(pg_partition_root(c.oid), c.oid) as root, sum(pg_total_relation_size(c.oid))::float8 as bytes,
        sum(greatest(c.reltuples, 0))::float8 as rows
      from pg_class c where c.relkind in ('r', 'm') group by 1 order by 2 desc limit ${tablesShown})
    select n.nspname::text as schema, c.relname::text as name, s.bytes, s.rows
    from sizes s join pg_class c on c.oid = s.root join pg_namespace n on n.oid = c.relnamespace order by s.bytes desc, 1, 2`
  const { max, ...rest } = server!
  const { total, active, ownConnections, longest } = activity!
  return {
    ...rest,
    connections: { total, active, ownConnections, max },
    longestTransactionSeconds: longest,
    tables: [...tables],
  }
}

export interface QueueStatus {
  jobs: { name: string; queued: number; delayed: number; active: number; failed: number; countedAt: Date | null }[]
  events: { subscription: string; waiting: number; failing: number; oldestAt: Date }[]
  bulk: { type: string; state: string; tasks: number; oldestAt: Date }[]
}

/** Returns the number of jobs, events and bulk tasks that wait or run. */
export async function readQueueStatus(sql: Sql): Promise<QueueStatus> {
  // These counts are a few seconds old, because pg-boss counts its jobs every few seconds.
  const jobs = await sql<QueueStatus['jobs']>`
    select name, queued_count as queued, deferred_count as delayed, active_count as active, failed_count as failed,
      monitor_on as counted_at
    from jobs.queue order by name`
  const events = await sql<QueueStatus['events']>`
    select o.subscription, count(*)::int as waiting,
      (select count(*)::int from kernel.outbox_heads h where h.subscription = o.subscription and h.attempts > 0) as failing,
      min(o.created_at) as oldest_at
    from kernel.outbox o group by o.subscription order by o.subscription`
  const bulk = await sql<QueueStatus['bulk']>`
    select type, state, count(*)::int as tasks, min(created_at) as oldest_at from kernel.bulk_tasks
    where finished_at is null group by type, state order by type, state`
  return { jobs: [...jobs], events: [...events], bulk: [...bulk] }
}

export interface NodeStatus {
  id: string
  version: string
  startedAt: Date
  addresses: Record<string, string>
  secondsSinceHeartbeat: number
  gone: boolean
}

export const readNodes = (sql: Sql) =>
  sql<NodeStatus[]>`
    select id, version, started_at, addresses, gone, extract(epoch from now() - seen_at)::float8 as seconds_since_heartbeat
    from kernel.nodes order by started_at, id limit 1000`
