/** Starts an OpenVPN process and controls it through its management interface. */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { type ClientNotice, createManagementParser } from './management.ts'

export interface OpenVpn {
  /** Resolves when the process accepts clients. Rejects with the reason if it ends before. */
  started: Promise<void>
  /** Resolves when the process has ended, with the reason: the failure of the start, or the exit code and the last lines of the log. */
  ended: Promise<string>
  send(command: string): void
  stop(): Promise<void>
}

const logLinesKept = 5
const stopMs = 5000
/** Time limit of the start. It is shorter than the time without a heartbeat after which another process takes the lease. */
const startMs = 5000

export interface OpenVpnOptions {
  program: string
  config: string
  socketPath: string
  onClient(notice: ClientNotice): void
  /** Called when the network interface exists, before clients can connect. */
  prepare(): Promise<void>
}

export function startOpenVpn({ program, config, socketPath, onClient, prepare }: OpenVpnOptions): OpenVpn {
  const started = Promise.withResolvers<void>()
  started.promise.catch(() => {}) // The caller awaits this promise later.
  const ended = Promise.withResolvers<string>()
  const startTimer = setTimeout(() => fail(`OpenVPN did not start within ${startMs / 1000} s`), startMs)
  const endStart = () => clearTimeout(startTimer)
  started.promise.then(endStart, endStart)
  let management: Socket | undefined
  let ready = false
  /** Notices that arrived before the network interface was prepared. */
  const earlyNotices: ClientNotice[] = []

  const send = (command: string) => void management?.write(command)
  async function begin() {
    await prepare()
    ready = true
    started.resolve()
    for (const notice of earlyNotices.splice(0)) onClient(notice)
  }

  rmSync(socketPath, { force: true })
  const server = createServer((socket) => {
    // Only one OpenVPN process may connect. Further connections are rejected.
    server.close()
    management = socket
    socket.setEncoding('utf8')
    socket.on('error', () => {}) // The end of the process is handled below.
    const parse = createManagementParser({
      client: (notice) => (ready ? onClient(notice) : void earlyNotices.push(notice)),
      hold: () => send('state on\nhold release\n'),
      state(name) {
        if (name === 'CONNECTED' && !ready) begin().catch((error) => fail((error as Error).message))
      },
    })
    socket.on('data', parse)
  })
  server.on('error', (error) => fail(error.message))

  const log: string[] = []
  let child: ReturnType<typeof launch> | undefined
  const launch = () => spawn(program, ['--config', 'stdin'], { stdio: ['pipe', 'pipe', 'pipe'], cwd: '/' })
  let failure: string | undefined
  function fail(reason: string) {
    failure ??= reason
    started.reject(new Error(reason))
    child?.kill('SIGTERM')
    if (!child) ended.resolve(reason)
  }
  server.listen(socketPath, () => {
    child = launch()
    const keep = (text: string) => {
      log.push(...text.split('\n').filter((line) => line.trim() !== ''))
      log.splice(0, log.length - logLinesKept)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.stdin.on('error', () => {}) // OpenVPN ended before it had read everything.
    child.stdin.end(config)
    child.on('error', (error) => log.push(error.message))
    child.on('close', (code, signal) => {
      server.close()
      management?.destroy()
      const reason = failure ?? `OpenVPN ended (${signal ?? `exit code ${code}`}): ${log.join(' | ')}`
      started.reject(new Error(reason))
      ended.resolve(reason)
    })
  })

  return {
    started: started.promise,
    ended: ended.promise,
    send,
    async stop() {
      child?.kill('SIGTERM')
      const timer = setTimeout(() => child?.kill('SIGKILL'), stopMs)
      if (!child) fail('stopped')
      await ended.promise
      clearTimeout(timer)
    },
  }
}
