/** SQL of the two writes of a command: its invocation and its result. Both take many commands at once. */
import type { Sql } from '../../../kernel/db.ts'
import { commandIdMax } from '../push.ts'

export interface NewCommand {
  tenantId: string
  endpointId: string
  applicationName: string
  type: string
  /** JSON text; null without one, or if the task has it. */
  payload: string | null
  size: number
  /** Milliseconds until it expires. */
  lifetimeMs: number
  /** False: it is never given to a device that asks. */
  kept: boolean
  waitingNode: string | null
  taskId: string | null
}

export interface MadeCommand {
  commandId: number
  createdAt: Date
}

/**
 * Locks the endpoints until the end of the transaction, in one order for all callers. The next statement sees all commands of
 * transactions that had the locks before.
 */
export async function lockEndpoints(sql: Sql, commands: Pick<NewCommand, 'tenantId' | 'endpointId'>[]): Promise<void> {
  await sql`
    with given as (
      select distinct * from unnest(${commands.map(({ tenantId }) => tenantId)}::text[],
        ${commands.map(({ endpointId }) => endpointId)}::text[]) as g(tenant_id, endpoint_id)),
    added as (
      insert into commands.endpoints (tenant_id, endpoint_id, last_at)
      select tenant_id, endpoint_id, statement_timestamp() from given g
      where not exists (
        select 1 from commands.endpoints e where e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id)
      order by tenant_id, endpoint_id
      on conflict do nothing)
    select 1 from commands.endpoints e join given using (tenant_id, endpoint_id)
    order by e.tenant_id, e.endpoint_id for update of e`
}

/**
 * Inserts commands of locked endpoints, with the next ids of each. Returns undefined in the place of a command whose endpoint has
 * `outstandingMax` outstanding ones. Commands of tasks are inserted anyway, as expired.
 */
export async function insertCommands(
  sql: Sql,
  commands: NewCommand[],
  outstandingMax: number,
): Promise<(MadeCommand | undefined)[]> {
  const column = <K extends keyof NewCommand>(name: K) => commands.map((command) => command[name])
  const rows = await sql<{ commandId: number | null; createdAt: Date }[]>`
    with given as (
      select *, row_number() over (partition by tenant_id, endpoint_id order by place) as nth
      from unnest(${column('tenantId')}::text[], ${column('endpointId')}::text[], ${column('applicationName')}::text[],
        ${column('type')}::text[], ${column('payload')}::text[], ${column('size')}::integer[],
        ${column('lifetimeMs').map(String)}::text[]::bigint[], ${column('kept')}::boolean[],
        ${column('waitingNode')}::text[], ${column('taskId')}::text[])
        with ordinality as g(tenant_id, endpoint_id, application_name, command_type, payload, size, lifetime_ms, kept,
          waiting_node, task_id, place)),
    before as (
      select e.tenant_id, e.endpoint_id, e.last_id, (
        select count(*) from commands.commands c
        where c.tenant_id = e.tenant_id and c.endpoint_id = e.endpoint_id and c.status_code is null
          and c.ends_at > statement_timestamp()) as outstanding
      from commands.endpoints e
      where (e.tenant_id, e.endpoint_id) in (select tenant_id, endpoint_id from given)),
    allowed as (
      select g.*, (b.last_id + g.nth)::integer as command_id, b.outstanding + g.nth <= ${outstandingMax}::integer as has_room
      from given g join before b using (tenant_id, endpoint_id)
      where b.last_id + g.nth <= ${commandIdMax}
        and (b.outstanding + g.nth <= ${outstandingMax}::integer or g.task_id is not null)),
    made as (
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, payload, size,
        created_at, ends_at, kept, waiting_node, task_id)
      select tenant_id, endpoint_id, command_id, application_name, command_type, payload, size, at,
        at + case when has_room then lifetime_ms else 0 end * interval '1 millisecond', kept, waiting_node, task_id
      from allowed, date_trunc('milliseconds', statement_timestamp()) as at),
    numbered as (
      update commands.endpoints e set last_id = a.last_id, last_at = statement_timestamp()
      from (select tenant_id, endpoint_id, max(command_id) as last_id from allowed group by 1, 2) a
      where e.tenant_id = a.tenant_id and e.endpoint_id = a.endpoint_id)
    select a.command_id, date_trunc('milliseconds', statement_timestamp()) as created_at
    from given g left join allowed a using (place) order by g.place`
  return rows.map(({ commandId, createdAt }) => (commandId === null ? undefined : { commandId, createdAt }))
}

export interface NewResult {
  tenantId: string
  endpointId: string
  type: string
  commandId: number
  statusCode: number
  reasonPhrase: string | null
  /** JSON text. */
  payload: string | null
}

export interface ExecutedCommand {
  tenantId: string
  endpointId: string
  commandId: number
  applicationName: string
  commandType: string
  waitingNode: string | null
  /** JSON text of the command, only `withPayload`. */
  payload: string | null
}

/** Stores the results of outstanding commands and returns these commands. Other results are ignored. */
export async function updateResults(
  sql: Sql,
  results: NewResult[],
  { withPayload }: { withPayload: boolean },
): Promise<ExecutedCommand[]> {
  const column = <K extends keyof NewResult>(name: K) => results.map((result) => result[name])
  const payload = withPayload
    ? sql`coalesce(c.payload,
        (select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) as payload`
    : sql`null as payload`
  return await sql<ExecutedCommand[]>`
    update commands.commands c
    set status_code = r.status_code, reason_phrase = r.reason_phrase, result = r.result, ends_at = statement_timestamp()
    from (
      select distinct on (tenant_id, endpoint_id, command_id) * from unnest(${column('tenantId')}::text[],
        ${column('endpointId')}::text[], ${column('type')}::text[], ${column('commandId')}::integer[],
        ${column('statusCode')}::smallint[], ${column('reasonPhrase')}::text[], ${column('payload')}::text[])
        with ordinality as r(tenant_id, endpoint_id, command_type, command_id, status_code, reason_phrase, result, place)
      order by tenant_id, endpoint_id, command_id, place) r
    where c.tenant_id = r.tenant_id and c.endpoint_id = r.endpoint_id and c.command_id = r.command_id
      and c.command_type = r.command_type and c.status_code is null and c.ends_at > statement_timestamp()
    returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, c.waiting_node, ${payload}`
}

export interface CommandPlace {
  tenantId: string
  endpointId: string
  commandId: number
}

/** Ends an outstanding command as expired, now. */
export async function expireCommand(sql: Sql, { tenantId, endpointId, commandId }: CommandPlace): Promise<void> {
  await sql`
    update commands.commands set ends_at = statement_timestamp()
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and command_id = ${commandId}
      and status_code is null and ends_at > statement_timestamp()`
}

/** Records the first hand-over of commands to their devices, and returns those for which it is the first. */
export async function updateDispatched(
  sql: Sql,
  places: CommandPlace[],
): Promise<(CommandPlace & { applicationName: string; commandType: string; payload: string | null })[]> {
  return await sql<(CommandPlace & { applicationName: string; commandType: string; payload: string | null })[]>`
    update commands.commands c set dispatched_at = statement_timestamp()
    from (
      select distinct * from unnest(${places.map(({ tenantId }) => tenantId)}::text[],
        ${places.map(({ endpointId }) => endpointId)}::text[], ${places.map(({ commandId }) => commandId)}::integer[])
        as p(tenant_id, endpoint_id, command_id)) p
    where c.tenant_id = p.tenant_id and c.endpoint_id = p.endpoint_id and c.command_id = p.command_id
      and c.dispatched_at is null
    returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, coalesce(c.payload, (
      select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) as payload`
}
