/** Keeps one OpenVPN process of a protocol running: starts it, and restarts it after it has ended. */
import { join } from 'node:path'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Installation } from '../service/authorities.ts'
import type { Network } from '../settings.ts'
import type { VerificationRow } from '../store/server.ts'
import { type Connections, createConnections } from './connections.ts'
import type { HostNetwork } from './host-network.ts'
import { type OpenVpn, startOpenVpn } from './openvpn.ts'
import { type Protocol, serverConfig } from './openvpn-config.ts'
import { portProblem } from './programs.ts'

export interface ServerProcess {
  /** Starts the process if it is not running and its pause after a failure is over. */
  keepRunning(installation: Installation): Promise<void>
  isRunning(): boolean
  /** Returns the reason why the process is not running; undefined while it is running. */
  problem(): string | undefined
  connections: Connections
  stop(): Promise<void>
}

export interface ProcessDeps {
  protocol: Protocol
  port: number
  /** Folder for the socket and the revocation lists. */
  directory: string
  revocationLists: string
  program: string
  network: Network
  host: HostNetwork
  find(id: string): Promise<VerificationRow | undefined>
  freeAddress(address: string, exceptId: string): void
  report(line: string): void
  sleep(ms: number): Promise<void>
}

const pauseMaxMs = 30_000

export function createServerProcess(deps: ProcessDeps): ServerProcess {
  const { protocol, port, report } = deps
  let running: OpenVpn | undefined
  let problem: string | undefined
  let pauseMs = 1000
  let nextMs = 0
  let certificate = ''
  let stopped = false
  const newConnections = () => createConnections({ ...deps, send: (command) => running?.send(command) })
  let connections = newConnections()

  function failed(reason: string) {
    if (stopped) return
    if (reason !== problem) report(reason)
    problem = reason
    nextMs = monotonicMs() + pauseMs
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs)
  }

  async function start(installation: Installation) {
    const used = await portProblem(protocol, port)
    if (used) return failed(used)
    connections = newConnections()
    const files = { socket: join(deps.directory, `${protocol}.sock`), revocationLists: deps.revocationLists }
    const started = startOpenVpn({
      program: deps.program,
      config: serverConfig({ protocol, port, files, dropRights: process.getuid?.() === 0 }, installation),
      socketPath: files.socket,
      onClient: (notice) => connections.handle(notice),
      prepare: () => deps.host.openInterface(protocol),
    })
    running = started
    certificate = installation.server.certificate
    void started.ended.then((reason) => {
      if (running !== started) return
      running = undefined
      failed(reason)
    })
    try {
      await started.started
      problem = undefined
      pauseMs = 1000
      report(`the VPN server accepts clients on port ${port} (${protocol.toUpperCase()})`)
    } catch {
      await started.ended // The handler of `ended` above reports the reason.
    }
  }

  return {
    get connections() {
      return connections
    },
    async keepRunning(installation) {
      // OpenVPN reads its certificate only when it starts, so it is restarted after the certificate was renewed.
      if (running && certificate !== installation.server.certificate) {
        const old = running
        running = undefined
        await old.stop()
      }
      if (!running && !stopped && monotonicMs() >= nextMs) await start(installation)
    },
    isRunning: () => running !== undefined && problem === undefined,
    problem: () => problem,
    async stop() {
      stopped = true
      await running?.stop()
      running = undefined
    },
  }
}
