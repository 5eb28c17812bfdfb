/** Runs the VPN server for the command `waypost vpn`, in a separate process beside the platform. */
import type { Config } from '../config.ts'
import { gatewaySettings } from '../gateway/settings.ts'
import { systemClock } from '../kernel/clock.ts'
import { createDb } from '../kernel/db.ts'
import { connectEmbeddedPostgres } from '../kernel/embedded-postgres.ts'
import { newId } from '../kernel/ids.ts'
import { keyReloadMs } from '../kernel/key-rotation.ts'
import { createPkiWorker } from '../kernel/pki/worker.ts'
import { createSecrets, findMasterKey, readDataKeys } from '../kernel/secrets.ts'
import { createServerData, type ServerData } from '../services/vpn/server/data.ts'
import { firewallRules } from '../services/vpn/server/firewall.ts'
import { hiddenInstallation, protocols, serverConfig } from '../services/vpn/server/openvpn-config.ts'
import { findPrograms, missingParts, portProblem } from '../services/vpn/server/programs.ts'
import { serveVpn } from '../services/vpn/server/serve.ts'
import { createAuthorities } from '../services/vpn/service/authorities.ts'
import { vpnSettings } from '../services/vpn/settings.ts'
import { postgresDirectory } from './database.ts'

/** Runs the VPN server until `stop` aborts. */
export const runVpnServer = (config: Config, stop: AbortSignal, report: (line: string) => void) =>
  serveVpn({
    settings: config.read(vpnSettings),
    platformPorts: platformPorts(config),
    openData: () => openData(config),
    stop,
    report,
  })

/** Returns the ports that devices can reach in the VPN: the ports of the platform and of its public address. */
function platformPorts(config: Config): number[] {
  const { mqttPort, mqttsPort } = config.read(gatewaySettings)
  const url = config.baseUrl === undefined ? undefined : new URL(config.baseUrl)
  const publicPort = url && Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  return [...new Set([config.port, mqttPort, mqttsPort, publicPort ?? 0])].filter((port) => port > 0)
}

/**
 * Opens separate connections to the database. It is called after each start of the embedded database, because each start creates another
 * socket.
 */
async function openData(config: Config): Promise<ServerData> {
  const connection = config.databaseUrl
    ? { url: config.databaseUrl }
    : await connectEmbeddedPostgres(postgresDirectory(config))
  if (!connection) throw new Error(`no platform runs on ${config.dataDirectory}`)
  const masterKey = findMasterKey(config.masterKey, config.dataDirectory)
  if (!masterKey) throw new Error(`${config.dataDirectory} has no master key; set WAYPOST_DATA or WAYPOST_MASTER_KEY`)
  const db = createDb(connection, { max: 4 })
  const worker = createPkiWorker()
  let closing: NodeJS.Timeout | undefined
  const close = async () => {
    clearInterval(closing)
    await worker.close()
    await db.close()
  }
  try {
    const dataKeys = await readDataKeys(db.sql, masterKey)
    if (!dataKeys) throw new Error('no platform has been started on this database')
    const secrets = createSecrets(dataKeys)
    // This process gets no events of the platform, so it reads the keys periodically. A rotation waits longer than this interval before it
    // seals with a new key.
    const reloading = setInterval(async () => {
      try {
        const key = findMasterKey(config.masterKey, config.dataDirectory)
        const keys = key && (await readDataKeys(db.sql, key))
        if (keys) secrets.setDataKeys(keys)
      } catch {
        // The next run tries again. If the database does not answer, the connections report it.
      }
    }, keyReloadMs)
    reloading.unref()
    closing = reloading
    const settings = config.read(vpnSettings)
    const authorities = createAuthorities({ db, now: systemClock, newId, secrets, settings }, worker)
    return createServerData({ db, secrets, authorities, worker, now: systemClock, close })
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the configuration with which the server would run, without keys, and the missing settings. */
export async function describeVpnServer(config: Config): Promise<{ text: string; missing: string[] }> {
  const { port, network } = config.read(vpnSettings)
  const files = { socket: '(a temporary folder)/server.sock', revocationLists: '(a temporary folder)/revoked.pem' }
  const configs = protocols.map(
    (protocol) =>
      `# OpenVPN, ${protocol.toUpperCase()}\n\n${serverConfig({ protocol, port, files, dropRights: true }, hiddenInstallation)}`,
  )
  const rules = `# Firewall (nft -f -)\n\n${firewallRules({ network, platformPorts: platformPorts(config) })}`
  const ports = await Promise.all(protocols.map((protocol) => portProblem(protocol, port)))
  const missing = [...missingParts(findPrograms()), ...ports.filter((problem) => problem !== undefined)]
  return { text: [...configs, rules].join('\n'), missing }
}
