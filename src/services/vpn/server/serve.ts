/** Runs the VPN server while this process has the lease: one OpenVPN process for UDP, one for TCP, and the firewall. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monotonicMs, sleep, sleepUnlessAborted } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import { CannotServe } from '../contract.ts'
import type { VpnSettings } from '../settings.ts'
import type { ServerData } from './data.ts'
import { createHostNetwork, type HostNetwork } from './host-network.ts'
import { createLeaseWatch } from './lease.ts'
import { protocols } from './openvpn-config.ts'
import { createServerProcess, type ServerProcess } from './process.ts'
import { findPrograms, missingParts, type Programs } from './programs.ts'
import { createRevocationFile, type RevocationFile } from './revocation-file.ts'

export interface ServeOptions {
  settings: VpnSettings
  /** Ports of the platform that devices can reach. */
  platformPorts: number[]
  /** Connects to the database. If that fails, throws an error that describes the reason. */
  openData(): Promise<ServerData>
  stop: AbortSignal
  report(line: string): void
}

const tickMs = 1000
/**
 * While the database is unreachable, tunnels stay open for this time, which is longer than a restart of the platform. Then they are closed,
 * because revocations can no longer be read.
 */
const withoutDatabaseMs = 30_000
/**
 * Intervals in ticks of one second. Clients are also checked against the database, so revocation lists may be 5 seconds old.
 * `lastConnected` is exact to the minute.
 */
const revocationListTicks = 5
const lastConnectedTicks = 60

/** The state while the command runs. */
interface Run extends ServeOptions {
  holder: string
  data: ServerData | undefined
  answeredMs: number
  isHolder: boolean
  served: Served | undefined
  problem: string | undefined
  /** The reason why the revocation lists are not written. */
  listProblem: string | undefined
  reported: string
}

/** The parts that exist only while this process has the lease and runs the server. */
interface Served {
  directory: string
  revocationFile: RevocationFile
  host: HostNetwork
  processes: ServerProcess[]
  ticks: number
}

/** Runs the server until `stop` aborts. If the server cannot start, throws an error that names what is missing. */
export async function serveVpn(options: ServeOptions): Promise<void> {
  const run: Run = {
    ...options,
    holder: newId(),
    data: undefined,
    answeredMs: monotonicMs(),
    isHolder: false,
    served: undefined,
    problem: undefined,
    listProblem: undefined,
    reported: '',
  }
  const watch = createLeaseWatch({ holder: run.holder, host: hostname() })
  const programs = findPrograms()
  const missing = missingParts(programs)
  try {
    while (!run.stop.aborted) {
      await tick(run, watch, programs as Programs, missing)
      await sleepUnlessAborted(tickMs, run.stop)
    }
  } finally {
    await end(run)
  }
}

async function tick(run: Run, watch: ReturnType<typeof createLeaseWatch>, programs: Programs, missing: string[]) {
  try {
    if (!run.data) {
      run.data = await run.openData()
      if (run.reported !== '') run.report('the database is reachable')
      run.reported = ''
    }
    if (!run.isHolder) {
      const lease = await watch.check(run.data)
      run.isHolder = lease.isHolder
      if (!lease.isHolder)
        reportOnce(
          run,
          `another process runs the VPN server (${lease.host}); this process takes over when the other process stops`,
        )
    }
    if (missing.length > 0) {
      run.problem = missing.join('. ')
      throw new CannotServe(missing.join('\n'))
    }
    if (run.isHolder) await hold(run, programs)
    run.answeredMs = monotonicMs()
  } catch (error) {
    if (error instanceof CannotServe) throw error
    // Missing programs and rights are reported even if the database is unreachable.
    if (missing.length > 0) throw new CannotServe(missing.join('\n'))
    reportOnce(run, `the database failed: ${(error as Error).message}; retrying`)
    await run.data?.close().catch(() => {})
    run.data = undefined
    if (run.served && monotonicMs() - run.answeredMs > withoutDatabaseMs) {
      run.report('closing all tunnels: revocations cannot be read without the database')
      await stopServing(run)
    }
  }
}

/** Runs every second in the process that has the lease. */
async function hold(run: Run, programs: Programs) {
  const data = run.data!
  run.served ??= await beginServing(run, programs)
  const { served } = run
  const installation = await data.installation()
  if (served.ticks % revocationListTicks === 0) await writeLists(run, served)
  await Promise.all(served.processes.map((process) => process.keepRunning(installation)))
  const problems = [...served.processes.map((process) => process.problem()), run.listProblem].filter(Boolean)
  run.problem = problems.length === 0 ? undefined : problems.join('. ')
  const running = served.processes.some((process) => process.isRunning())
  if (
    !(await data.writeHeartbeat(run.holder, { running, ...(run.problem !== undefined && { problem: run.problem }) }))
  ) {
    run.report('another process has taken over the VPN server; closing all tunnels')
    run.isHolder = false
    await stopServing(run)
    return
  }
  await checkConnections(data, served)
  served.ticks++
}

async function checkConnections(data: ServerData, { processes, ticks }: Served) {
  const ids = processes.flatMap(({ connections }) => connections.ids())
  const notPermitted = ids.length === 0 ? [] : await data.findNotPermitted(ids)
  for (const { connections } of processes) connections.end(notPermitted)
  const seen = new Set(processes.flatMap(({ connections }) => connections.takeSeen()))
  if (ticks % lastConnectedTicks === 0) for (const id of ids) seen.add(id)
  if (seen.size > 0) await data.saveConnected([...seen])
}

async function beginServing(run: Run, programs: Programs): Promise<Served> {
  const { settings, platformPorts, report } = run
  const host = createHostNetwork(programs, { network: settings.network, platformPorts })
  let directory: string
  try {
    await host.loadFirewall()
    directory = mkdtempSync(join(tmpdir(), 'waypost-vpn-'))
    // OpenVPN has dropped its privileges when it reads changed revocation lists, so it needs access to the directory.
    chmodSync(directory, 0o711)
  } catch (error) {
    run.problem = wordsOf(error)
    throw new CannotServe(run.problem)
  }
  const revocationFile = createRevocationFile(directory)
  const served: Served = { directory, revocationFile, host, processes: [], ticks: 0 }
  const find = async (id: string) => {
    if (!run.data) throw new Error('the database is not reachable')
    return await run.data.findForVerification(id)
  }
  const freeAddress = (address: string, exceptId: string) => {
    for (const { connections } of served.processes) connections.endAddress(address, exceptId)
  }
  served.processes = protocols.map((protocol) =>
    createServerProcess({
      ...{ protocol, directory, revocationLists: revocationFile.path, host, find, freeAddress, report, sleep },
      port: settings.port,
      program: programs.openvpn,
      network: settings.network,
    }),
  )
  return served
}

async function writeLists(run: Run, { revocationFile }: Served) {
  const lists = await run.data!.revocationLists()
  try {
    revocationFile.write(lists)
    run.listProblem = undefined
  } catch (error) {
    // The server can continue without new revocation lists, because it also checks each client against the database.
    run.listProblem = `Writing the revocation lists failed: ${wordsOf(error)}`
    reportOnce(run, run.listProblem)
  }
}

function wordsOf(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC') return `the disk of ${path ?? tmpdir()} is full`
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return `${path ?? 'a file'} cannot be written (${code})`
  return message
}

async function stopServing(run: Run) {
  const { served } = run
  run.served = undefined
  if (!served) return
  await Promise.all(served.processes.map((process) => process.stop()))
  await served.host.removeFirewall().catch((error) => run.report((error as Error).message))
  rmSync(served.directory, { recursive: true, force: true })
}

async function end(run: Run) {
  await stopServing(run)
  if (run.isHolder) await run.data?.releaseLease(run.holder, run.problem).catch(() => {})
  await run.data?.close().catch(() => {})
}

function reportOnce(run: Run, line: string) {
  if (line !== run.reported) run.report(line)
  run.reported = line
}
