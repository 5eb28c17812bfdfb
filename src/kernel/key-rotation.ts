/**
 * Rotates the master key and the data key while nodes run (ADR 6). The database stores the phase, so that an interrupted rotation continues
 * from that phase. All nodes load a key before any node seals with it.
 */
import { type Bus, defineEvent } from './bus.ts'
import { sleep } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { SealedColumn } from './define-service.ts'
import type { Log } from './log.ts'
import { keyReloadFailed } from './log-messages.ts'
import { newKey, type RotationPhase, readDataKeys, sealKey } from './secrets.ts'

export const KeysChanged = defineEvent<{ tenantId: string; phase: RotationPhase }>('kernel.keys.changed', {
  description: 'A rotation of the keys for secrets has reached its next phase; every node loads the keys',
})

/** Interval at which processes that get no events load the keys. */
export const keyReloadMs = 2000
const waitMs = 1000
const batchRows = 500

/**
 * Loads the keys on this node when a rotation enters its next phase, and records that they are loaded. Returns a function that loads them
 * immediately.
 */
export function followRotation(
  { db, bus, nodeId, log }: { db: Db; bus: Bus; nodeId: string; log: Log },
  load: () => Promise<RotationPhase | undefined>,
): () => Promise<void> {
  async function reload() {
    const phase = await load()
    if (phase === undefined) return
    await db.sql`
      insert into kernel.key_rotation_nodes (node_id, phase) values (${nodeId}, ${phase})
      on conflict (node_id) do update set phase = excluded.phase`
  }
  // The rotation publishes the event again until this node has recorded the phase.
  bus.subscribe(KeysChanged, () => void reload().catch((error) => keyReloadFailed(log, { err: error })))
  return reload
}

/**
 * Starts a rotation, or continues the rotation that is in progress. Returns false if the rotation in progress has another new master key.
 */
export async function beginRotation(db: Db, masterKey: Buffer, nextMasterKey: Buffer): Promise<boolean> {
  const keys = await readDataKeys(db.sql, masterKey)
  if (!keys) throw new Error('no platform has been started on this database')
  if (keys.rotation) {
    const opened = await readDataKeys(db.sql, nextMasterKey).catch(() => undefined)
    return opened?.rotation?.opensWith === 'new'
  }
  const dataKey = newKey()
  await db.tx(async (sql) => {
    await sql`delete from kernel.key_rotation_nodes`
    // The primary key makes this statement fail if another process has started a rotation meanwhile.
    await sql`insert into kernel.key_rotation ${sql({
      id: 1,
      phase: 'adding',
      oldKeyByOld: sealKey(masterKey, keys.current),
      oldKeyByNew: sealKey(nextMasterKey, keys.current),
      newKeyByOld: sealKey(masterKey, dataKey),
      newKeyByNew: sealKey(nextMasterKey, dataKey),
    })}`
  })
  return true
}

export const phaseOf = async (sql: Sql): Promise<RotationPhase | undefined> =>
  (await sql`select phase from kernel.key_rotation`)[0]?.phase

/**
 * Sets the phase and waits until every node has loaded the keys of this phase. `report` gets the number of nodes that have not loaded them.
 */
export async function enterPhase(
  { db, bus }: { db: Db; bus: Bus },
  phase: 'adding' | 'sealing',
  report: (missing: number) => void,
) {
  await db.sql`update kernel.key_rotation set phase = ${phase}`
  for (;;) {
    await db.tx((sql) => bus.publish(sql, KeysChanged, { tenantId: 'platform', phase }))
    await sleep(waitMs)
    const missing = await db.sql`
      select from kernel.nodes n where not n.gone and n.seen_at > now() - interval '5 seconds'
        and not exists (select from kernel.key_rotation_nodes r where r.node_id = n.id and r.phase = ${phase})`
    if (missing.length === 0) break
    report(missing.length)
  }
  // The pause is for processes that get no events, such as the VPN server, and for nodes that were suspended for a moment.
  await sleep(2 * keyReloadMs)
}

export interface QualifiedColumn extends SealedColumn {
  schema: string
}

/** Columns with texts that the kernel itself seals. */
export const kernelColumns: QualifiedColumn[] = [
  { schema: 'kernel', table: 'vault', column: 'sealed' },
  { schema: 'kernel', table: 'bulk_pages', column: 'items', isJson: true },
  { schema: 'kernel', table: 'bulk_pages', column: 'results', isJson: true },
]

const sealedText = /^v[12]\.[\w.-]{38,}$/

/**
 * Finds the values of a column that do not begin with `prefix`, and seals them again, in batches. A value that a service changes meanwhile
 * is skipped, because the service has sealed it with the new key. Returns the number of changed values.
 */
export async function sealAgain(
  db: Db,
  { schema, table, column, isJson }: QualifiedColumn,
  prefix: string,
  sealAgain: (sealed: string) => string,
  report: (changed: number) => void = () => {},
): Promise<number> {
  const { sql } = db
  const name = sql`${sql(schema)}.${sql(table)}`
  const [exists] = await sql`select to_regclass(${`${schema}.${table}`}) is not null as yes`
  if (!exists?.yes) return 0
  const isOld = isJson
    ? sql`${sql(column)}::text ~ '"v[12][.]' and replace(${sql(column)}::text, ${`"${prefix}`}, '') ~ '"v[12][.][A-Za-z0-9_.-]{38,}"'`
    : sql`${sql(column)} like 'v_.%' and not starts_with(${sql(column)}, ${prefix})`
  let changed = 0
  let ctid = '(0,0)'
  for (;;) {
    const rows = await sql`
      select ctid::text as tid, ${sql(column)}::text as value from ${name}
      where ctid > ${ctid}::text::tid and ${isOld} order by ctid limit ${batchRows}`
    if (rows.length === 0) return changed
    let inBatch = 0
    for (const row of rows) {
      const value = isJson ? sealedAgainInJson(row.value, prefix, sealAgain) : sealAgain(row.value)
      if (value === undefined) continue
      const { count } = await sql`
        update ${name} set ${sql(column)} = ${isJson ? sql`${value}::text::jsonb` : value}
        where ctid = ${row.tid}::text::tid and ${sql(column)}::text = ${row.value}`
      inBatch += count
    }
    changed += inBatch
    report(inBatch)
    ctid = rows.at(-1)!.tid
  }
}

/**
 * Returns the JSON with its texts sealed again, or undefined if it contains no sealed text. JSON may contain texts that only look sealed;
 * they stay as they are.
 */
function sealedAgainInJson(json: string, prefix: string, sealAgain: (sealed: string) => string): string | undefined {
  let isChanged = false
  const changed = JSON.parse(json, (_, value: unknown) => {
    if (typeof value !== 'string' || !sealedText.test(value) || value.startsWith(prefix)) return value
    try {
      const sealed = sealAgain(value)
      isChanged = true
      return sealed
    } catch {
      return value
    }
  })
  return isChanged ? JSON.stringify(changed) : undefined
}

/**
 * Ends the rotation. After it, the old keys no longer open any value. Returns false, and changes nothing, if the values are not all sealed
 * again or `masterKey` is not the new master key.
 */
export async function finishRotation(db: Db, masterKey: Buffer): Promise<boolean> {
  return await db.tx(async (sql) => {
    const keys = await readDataKeys(sql, masterKey)
    if (keys?.rotation?.phase !== 'sealed' || keys.rotation.opensWith !== 'new') return false
    const sealed = sealKey(masterKey, keys.current)
    await sql`update kernel.data_keys set sealed = ${sealed}`
    await sql`delete from kernel.key_rotation`
    await sql`delete from kernel.key_rotation_nodes`
    return true
  })
}
