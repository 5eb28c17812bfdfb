/** SQL of the two writes of a command: its invocation and its result. One call can write many commands. */
import type { ClaimedRecord } from '../../../kernel/audit/record.ts'
import { insertRecordsOfCreated } from '../../../kernel/audit/store.ts'
import type { Fragment, Sql } from '../../../kernel/db.ts'

export interface NewCommand {
  tenantId: string
  endpointId: string
  applicationName: string
  type: string
  /** JSON text. It is null for a command without payload, or if the payload is stored with the task. */
  payload: string | null
  size: number
  /** Milliseconds until the command expires. */
  lifetimeMs: number
  /** False for a command with `commandTtl=0`: it is pushed once, and a device that requests its commands does not get it. */
  kept: boolean
  waitingNode: string | null
  taskId: string | null
  /** The audit record of the request, which is committed with the command. */
  audit?: ClaimedRecord | undefined
}

export interface MadeCommand {
  commandId: number
  createdAt: Date
}

/**
 * Locks the endpoints until the end of the transaction, and inserts commands with the next ids of each endpoint. If an endpoint has
 * `outstandingMax` outstanding commands, the result contains undefined for its command. Commands of tasks are inserted nevertheless, as
 * expired.
 */
export async function insertCommands(
  sql: Sql,
  commands: NewCommand[],
  outstandingMax: number,
): Promise<(MadeCommand | undefined)[]> {
  return await insertWithRecords(sql, commands, invoked(sql, commands, outstandingMax))
}

/**
 * Inserts the commands of endpoints that have room for one more according to their last count; takes less time than `insertCommands`. The
 * commands must be of different endpoints. The result contains undefined for a command whose endpoint must be counted again.
 */
export async function insertWithoutCount(
  sql: Sql,
  commands: NewCommand[],
  outstandingMax: number,
): Promise<(MadeCommand | undefined)[]> {
  const column = <K extends keyof NewCommand>(name: K) => commands.map((command) => command[name])
  const made = sql`
    commands.invoke_known(${column('tenantId')}::text[], ${column('endpointId')}::text[],
      ${column('applicationName')}::text[], ${column('type')}::text[], ${column('payload')}::text[],
      ${column('size')}::integer[], ${column('lifetimeMs').map(String)}::text[]::bigint[], ${column('kept')}::boolean[],
      ${column('waitingNode')}::text[], ${outstandingMax}::integer)`
  return await insertWithRecords(sql, commands, made)
}

/** Inserts commands with a function of the database, together with the audit records of their requests. */
async function insertWithRecords(
  sql: Sql,
  commands: NewCommand[],
  made: Fragment,
): Promise<(MadeCommand | undefined)[]> {
  const records = commands.flatMap(({ audit }, index) => (audit ? [{ place: index + 1, record: audit.record }] : []))
  const rows = await sql<{ place: number; commandId: number | null; createdAt: Date }[]>`
    with made as materialized (select place, new_id, new_at from ${made})
    ${records.length === 0 ? sql`` : sql`, recorded as (${insertRecordsOfCreated(sql, records, sql`made`)})`}
    select place::integer, new_id as command_id, new_at as created_at from made`
  const inserted: (MadeCommand | undefined)[] = commands.map(() => undefined)
  for (const { place, commandId, createdAt } of rows)
    if (commandId !== null) inserted[place - 1] = { commandId, createdAt }
  return inserted
}

function invoked(sql: Sql, commands: NewCommand[], outstandingMax: number): Fragment {
  const [only] = commands
  if (only && commands.length === 1)
    return sql`
      commands.invoke_one(${only.tenantId}, ${only.endpointId}, ${only.applicationName}, ${only.type}, ${only.payload},
        ${only.size}, ${String(only.lifetimeMs)}::text::bigint, ${only.kept}, ${only.waitingNode}, ${only.taskId},
        ${outstandingMax})`
  const column = <K extends keyof NewCommand>(name: K) => commands.map((command) => command[name])
  return sql`
    commands.invoke(${column('tenantId')}::text[], ${column('endpointId')}::text[], ${column('applicationName')}::text[],
      ${column('type')}::text[], ${column('payload')}::text[], ${column('size')}::integer[],
      ${column('lifetimeMs').map(String)}::text[]::bigint[], ${column('kept')}::boolean[], ${column('waitingNode')}::text[],
      ${column('taskId')}::text[], ${outstandingMax}::integer)`
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
  /** JSON text of the command's payload; null unless `withPayload` is set. */
  payload: string | null
}

/** Stores the results of outstanding commands, and returns these commands. Other results are ignored. */
export async function updateResults(
  sql: Sql,
  results: NewResult[],
  { withPayload }: { withPayload: boolean },
): Promise<ExecutedCommand[]> {
  const [only] = results
  if (only && results.length === 1) return await updateResult(sql, only, withPayload)
  const column = <K extends keyof NewResult>(name: K) => results.map((result) => result[name])
  return await sql<ExecutedCommand[]>`
    select tenant_id, endpoint_id, command_id, application_name, command_type, waiting_node, payload
    from commands.store_results(${column('tenantId')}::text[], ${column('endpointId')}::text[], ${column('type')}::text[],
      ${column('commandId')}::integer[], ${column('statusCode')}::smallint[], ${column('reasonPhrase')}::text[],
      ${column('payload')}::text[], ${withPayload})`
}

/** Stores one result. A simple statement needs less processor time than the database function for many results. */
const updateResult = (sql: Sql, result: NewResult, withPayload: boolean) => sql<ExecutedCommand[]>`
  update commands.commands c
  set status_code = ${result.statusCode}, reason_phrase = ${result.reasonPhrase}, result = ${result.payload},
    ends_at = statement_timestamp()
  where c.tenant_id = ${result.tenantId} and c.endpoint_id = ${result.endpointId} and c.command_id = ${result.commandId}
    and case when c.command_type = ${result.type} and c.status_code is null and c.ends_at > statement_timestamp()
      then true else false end
  returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, c.waiting_node,
    case when ${withPayload} then coalesce(c.payload, (
      select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) end as payload`

export interface CommandKey {
  tenantId: string
  endpointId: string
  commandId: number
}

/** Expires an outstanding command immediately. */
export async function expireCommand(sql: Sql, { tenantId, endpointId, commandId }: CommandKey): Promise<void> {
  await sql`
    update commands.commands set ends_at = statement_timestamp()
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and command_id = ${commandId}
      and status_code is null and ends_at > statement_timestamp()`
}

/** Records the first delivery of commands to their devices. Returns the commands that were not delivered before. */
export async function updateDispatched(
  sql: Sql,
  keys: CommandKey[],
): Promise<(CommandKey & { applicationName: string; commandType: string; payload: string | null })[]> {
  return await sql<(CommandKey & { applicationName: string; commandType: string; payload: string | null })[]>`
    update commands.commands c set dispatched_at = statement_timestamp()
    from (
      select distinct * from unnest(${keys.map(({ tenantId }) => tenantId)}::text[],
        ${keys.map(({ endpointId }) => endpointId)}::text[], ${keys.map(({ commandId }) => commandId)}::integer[])
        as p(tenant_id, endpoint_id, command_id)) p
    where c.tenant_id = p.tenant_id and c.endpoint_id = p.endpoint_id and c.command_id = p.command_id
      and c.dispatched_at is null
    returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, coalesce(c.payload, (
      select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) as payload`
}
