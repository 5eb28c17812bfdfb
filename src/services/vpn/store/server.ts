import type { Sql } from '../../../kernel/db.ts'

/** The state of the VPN server: whether it is running and, if not, the reason. */
export interface ServerState {
  running: boolean
  problem?: string
}

/** After this time without a heartbeat, a server counts as stopped. */
const silentSeconds = 10

export async function findServerState(sql: Sql): Promise<ServerState> {
  const [row] = await sql<{ running: boolean; problem: string | null; silent: boolean }[]>`
    select running, problem, beat_date < now() - make_interval(secs => ${silentSeconds}) as silent from vpn.server`
  if (row && !row.silent) return { running: row.running, ...(row.problem !== null && { problem: row.problem }) }
  return {
    running: false,
    problem: row?.problem ?? 'No process runs the VPN server; start it with: waypost vpn',
  }
}

/** The lease with the heartbeat of the process that runs the server. */
export interface LeaseRow {
  holder: string
  host: string
  beat: number
}

export async function findLease(sql: Sql): Promise<LeaseRow | undefined> {
  const [row] = await sql<LeaseRow[]>`select holder, host, beat::float8 as beat from vpn.server`
  return row
}

/** Takes the lease if it has not changed since `seen` was read. Returns false if another process took it first. */
export async function takeLease(
  sql: Sql,
  { holder, host, seen }: { holder: string; host: string; seen: LeaseRow | undefined },
): Promise<boolean> {
  const { count } = seen
    ? await sql`
        update vpn.server set holder = ${holder}, host = ${host}, beat = beat + 1, beat_date = now(), running = false,
          problem = null
        where holder = ${seen.holder} and beat = ${seen.beat}`
    : await sql`
        insert into vpn.server (id, holder, host, beat, beat_date, running)
        values (1, ${holder}, ${host}, 1, now(), false) on conflict do nothing`
  return count === 1
}

/** Writes a heartbeat. Returns false if another process has taken the lease. */
export async function writeHeartbeat(sql: Sql, holder: string, { running, problem }: ServerState): Promise<boolean> {
  const { count } = await sql`
    update vpn.server set beat = beat + 1, beat_date = now(), running = ${running}, problem = ${problem ?? null}
    where holder = ${holder}`
  return count === 1
}

/** Releases the lease, so that another process can take it immediately. `problem` is kept as the reason why no server runs. */
export async function releaseLease(sql: Sql, holder: string, problem: string | undefined) {
  await sql`
    update vpn.server set holder = '', beat = beat + 1, beat_date = now(), running = false, problem = ${problem ?? null}
    where holder = ${holder}`
}

export interface VerificationRow {
  tenantId: string
  protocol: 'tcp' | 'udp'
  state: 'active' | 'revoked'
  address: string
  fingerprint: string
  authorityFingerprint: string
  isAvailable: boolean
  isExpired: boolean
}

export async function findForVerification(sql: Sql, id: string): Promise<VerificationRow | undefined> {
  const [row] = await sql<VerificationRow[]>`
    select c.tenant_id, c.protocol, c.state, host(c.address) as address, c.fingerprint,
      t.fingerprint as authority_fingerprint, t.available as is_available, c.invalid_after <= now() as is_expired
    from vpn.clients c join vpn.tenants t using (tenant_id) where c.id = ${id}`
  return row
}

/** Returns which of these clients may no longer be connected. */
export async function findNotPermitted(sql: Sql, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select wanted.id from unnest(${ids}::text[]) as wanted (id)
    where not exists (
      select from vpn.clients c join vpn.tenants t using (tenant_id)
      where c.id = wanted.id and c.state = 'active' and t.available and c.invalid_after > now())`
  return rows.map(({ id }) => id)
}

export async function saveConnected(sql: Sql, ids: string[]) {
  await sql`update vpn.clients set last_connected = now() where id = any(${ids})`
}

export async function setAvailable(sql: Sql, tenantId: string, available: boolean) {
  await sql`update vpn.tenants set available = ${available} where tenant_id = ${tenantId}`
}

// ── revocation lists

export interface ListedAuthority {
  /** The tenant id; empty for the root. */
  tenantId: string
  certificate: string
  sealedKey: string
  revision: number
}

/** Returns the root and the authorities of all tenants. The `revision` of an authority changes when its revocation list changes. */
export async function findListedAuthorities(sql: Sql): Promise<ListedAuthority[]> {
  return [
    ...(await sql<ListedAuthority[]>`
      select '' as tenant_id, certificate, sealed_key, (select count(*) from vpn.retired_tenants)::float8 as revision
      from vpn.installation
      union all
      select tenant_id, certificate, sealed_key, revision::float8 from vpn.tenants`),
  ]
}

export interface RevokedRow {
  serialNumber: string
  date: Date
}

export async function findRevoked(sql: Sql, tenantId: string): Promise<RevokedRow[]> {
  if (tenantId === '')
    return [...(await sql<RevokedRow[]>`select serial_number, retired_date as date from vpn.retired_tenants`)]
  return [
    ...(await sql<RevokedRow[]>`
      select serial_number, revoked_date as date from vpn.revoked_certificates
      where tenant_id = ${tenantId} and invalid_after > now()`),
  ]
}
