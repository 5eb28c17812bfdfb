/** Decides which clients may connect to one OpenVPN process, and ends connections that are no longer permitted. */
import { addressNumber, addressText, isInNetwork, platformAddressOf } from '../addresses.ts'
import type { Network } from '../settings.ts'
import type { VerificationRow } from '../store/server.ts'
import type { HostNetwork } from './host-network.ts'
import {
  acceptCommand,
  acceptRenewalCommand,
  type ClientNotice,
  denyCommand,
  dropCommand,
  haltCommand,
} from './management.ts'
import type { Protocol } from './openvpn-config.ts'

export interface Connections {
  handle(notice: ClientNotice): void
  /** Returns the ids of the clients that are connected or connecting. */
  ids(): string[]
  /** Ends the connections of these clients. The first call requests the clients to disconnect; a second call drops their connections. */
  end(ids: string[]): void
  /** Returns the ids of the clients whose connection was established or ended since the last call. */
  takeSeen(): string[]
  /** Ends connections with this address, except connections of the client `exceptId`, which has the address now. */
  endAddress(address: string, exceptId: string): void
}

interface Connection {
  id: string
  cid: string
  fingerprint: string
  address: string
  isHalted: boolean
}

export interface ConnectionDeps {
  protocol: Protocol
  network: Network
  host: Pick<HostNetwork, 'addClient' | 'removeClient'>
  /** Reads the client. Throws while the database is unreachable. */
  find(id: string): Promise<VerificationRow | undefined>
  /** Calls `endAddress` for the connections of all OpenVPN processes. */
  freeAddress(address: string, exceptId: string): void
  send(command: string): void
  report(line: string): void
  sleep(ms: number): Promise<void>
}

const netmask = '255.255.240.0'
const retryMs = 1000
/** Maximum number of attempts to read a client, one a second. OpenVPN allows one minute for a handshake. */
const attemptsMax = 55

export function createConnections(deps: ConnectionDeps): Connections {
  const byCid = new Map<string, Connection>()
  const pending = new Set<string>()
  const seen = new Set<string>()

  async function connect(notice: ClientNotice) {
    const { cid } = notice
    const id = notice.env.get('X509_0_CN') ?? ''
    pending.add(cid)
    const row = await findWithRetries(deps, id, () => pending.has(cid))
    // If OpenVPN gets no command, it rejects the client when the time for the handshake ends.
    if (row === 'unknown' || !pending.delete(cid)) return
    const refusal = refusalOf(deps, row, notice)
    if (refusal !== undefined) {
      deps.report(`refused VPN client ${shown(id)}: ${refusal}`)
      deps.send(denyCommand(notice))
      return
    }
    const { address, fingerprint } = row!
    deps.freeAddress(address, id)
    byCid.set(cid, { id, cid, fingerprint, address, isHalted: false })
    const gateway = addressText(platformAddressOf(addressNumber(address)))
    try {
      await deps.host.addClient(deps.protocol, { address, gateway })
    } catch (error) {
      byCid.delete(cid)
      throw error
    }
    deps.send(acceptCommand(notice, { address, netmask, gateway }))
  }

  /**
   * Handles the hourly key exchange of a connected client, without reading the database. If the client is no longer permitted, the periodic
   * check ends its connection.
   */
  function connectAgain(notice: ClientNotice) {
    const connection = byCid.get(notice.cid)
    const isSame =
      connection &&
      connection.id === notice.env.get('X509_0_CN') &&
      connection.fingerprint === digestOf(notice, 0) &&
      !connection.isHalted
    deps.send(isSame ? acceptRenewalCommand(notice) : denyCommand(notice))
  }

  async function disconnect({ cid }: ClientNotice) {
    pending.delete(cid)
    const connection = byCid.get(cid)
    if (!connection) return
    byCid.delete(cid)
    seen.add(connection.id)
    const isTaken = [...byCid.values()].some(({ address }) => address === connection.address)
    if (!isTaken) await deps.host.removeClient(deps.protocol, connection.address)
  }

  const handle = async (notice: ClientNotice) => {
    if (notice.kind === 'CONNECT') await connect(notice)
    else if (notice.kind === 'REAUTH') connectAgain(notice)
    else if (notice.kind === 'DISCONNECT') await disconnect(notice)
    else seen.add(byCid.get(notice.cid)?.id ?? '')
  }
  return {
    handle: (notice) =>
      void handle(notice).catch((error) =>
        deps.report(`could not handle the connection or disconnection of a VPN client: ${(error as Error).message}`),
      ),
    ids: () => [...new Set([...byCid.values()].map(({ id }) => id))],
    end(ids) {
      const ending = new Set(ids)
      for (const connection of byCid.values()) {
        if (!ending.has(connection.id)) continue
        deps.send(connection.isHalted ? dropCommand(connection.id) : haltCommand(connection.cid))
        if (!connection.isHalted)
          deps.report(`ended the connection of VPN client ${connection.id}: not permitted any more`)
        connection.isHalted = true
      }
    },
    endAddress(address, exceptId) {
      for (const connection of byCid.values())
        if (connection.address === address && connection.id !== exceptId) deps.send(dropCommand(connection.id))
    },
    takeSeen() {
      const ids = [...seen].filter((id) => id !== '')
      seen.clear()
      return ids
    },
  }
}

async function findWithRetries(
  { find, sleep }: ConnectionDeps,
  id: string,
  isWaiting: () => boolean,
): Promise<VerificationRow | undefined | 'unknown'> {
  if (!/^[0-9a-f-]{36}$/.test(id)) return undefined
  for (let attempt = 0; attempt < attemptsMax && isWaiting(); attempt++)
    try {
      return await find(id)
    } catch {
      await sleep(retryMs)
    }
  return 'unknown'
}

const digestOf = ({ env }: ClientNotice, depth: number) =>
  env.get(`tls_digest_sha256_${depth}`)?.replaceAll(':', '').toLowerCase()

/**
 * Returns why the client may not connect; undefined if it may. The digests of the client's certificate (0) and of its issuer (1), which
 * OpenVPN reports, prove that the authority of the client's own tenant issued the certificate.
 */
function refusalOf(
  { protocol, network }: Pick<ConnectionDeps, 'protocol' | 'network'>,
  row: VerificationRow | undefined,
  notice: ClientNotice,
): string | undefined {
  if (!row) return 'it is unknown'
  if (row.state !== 'active') return 'it is revoked'
  if (digestOf(notice, 0) !== row.fingerprint) return 'its certificate was replaced by a newer certificate'
  if (digestOf(notice, 1) !== row.authorityFingerprint) return 'its certificate is of another tenant'
  if (row.isExpired) return 'its certificate is expired'
  if (!row.isAvailable) return 'its tenant is not available'
  if (row.protocol !== protocol) return `its protocol is ${row.protocol}`
  if (!isInNetwork(network, addressNumber(row.address))) return `${row.address} is not in WAYPOST_VPN_NETWORK`
  return undefined
}

/** Shortens a name for the log, because the client chose it itself. */
const shown = (name: string) => JSON.stringify(name.slice(0, 64))
