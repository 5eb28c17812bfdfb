import type { Sql } from '../../../kernel/db.ts'

/** Whether a VPN server runs, and why not. */
export interface ServerState {
  running: boolean
  problem?: string
}

/** A server without a heartbeat for this long is gone. */
const silentSeconds = 10

export async function findServerState(sql: Sql): Promise<ServerState> {
  const [row] = await sql<{ running: boolean; problem: string | null; silent: boolean }[]>`
    select running, problem, beat_date < now() - make_interval(secs => ${silentSeconds}) as silent from vpn.server`
  if (!row || row.silent)
    return { running: false, problem: 'No process runs the VPN server; start it with: waypost vpn' }
  return { running: row.running, ...(row.problem !== null && { problem: row.problem }) }
}
