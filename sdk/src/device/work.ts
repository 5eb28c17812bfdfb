/**
 * Processes commands, configurations and software that the platform sends to a device. Each message is processed once, even if it arrives
 * several times.
 */
import type { Message } from './link.ts'

export interface Command {
  id: number
  type: string
  payload: unknown
}
export interface Configuration {
  /** Name of the configuration; absent for the default configuration. */
  name: string | undefined
  configId: string
  config: unknown
}
export interface Software {
  version: string
  /** The specification of the software version, as the platform sends it; null if the platform sends none. */
  config: Record<string, unknown> | null
  /** Downloads the file of the version, if the version has a file. */
  download(): Promise<SoftwareFile>
}

/** The bytes of a file as they arrive; a broken download continues where it stopped. */
export interface SoftwareFile extends ReadableStream<Uint8Array> {
  /** SHA-256 of the whole file, such as `sha-256=:…:` (RFC 9530). */
  readonly digest: string | undefined
}

/** The outcome of a command, a configuration or software, which the platform has acknowledged. */
export interface Report {
  kind: 'command' | 'configuration' | 'software'
  /** Type of the command, name of the configuration, or version of the software. */
  name: string | undefined
  /** 200, or 500 if the function has thrown. */
  statusCode: number
}

/** Functions that a program provides and the device calls. If a function throws, the device reports a failure with the error message. */
export interface Handlers {
  /** The platform gets the returned value as the result of the command. */
  onCommand?: ((command: Command) => unknown) | undefined
  onConfiguration?: ((configuration: Configuration) => unknown) | undefined
  onSoftware?: ((software: Software) => unknown) | undefined
  /** Called when the platform has stored the outcome of one of these functions. */
  onReported?: ((report: Report) => void) | undefined
}

interface Outcome {
  statusCode: number
  reasonPhrase?: string
  payload?: unknown
}

type Send = (message: Message) => Promise<string>

/** Maximum number of outcomes that are kept. They are needed because the platform may send a command again before it has the result. */
const rememberedMax = 1000

const parse = (text: string): unknown => (text === '' ? undefined : JSON.parse(text))

/** Sends outcomes to the platform, and tells the program which outcomes the platform has stored. */
function createReports(handlers: Handlers, send: Send, onError: (error: unknown) => void) {
  const report = (extension: string, resource: string, body: unknown) =>
    send({ extension, resource, payload: JSON.stringify(body) })

  /** Reports a result. If the platform rejects it, for example because it is too large, the device reports a failure instead. */
  async function reportResult(type: string, id: number, outcome: Outcome): Promise<number> {
    try {
      await report('cex', `result/${type}`, [{ id, ...outcome }])
      return outcome.statusCode
    } catch (error) {
      const { status, message } = error as { status?: number; message?: string }
      if (outcome.statusCode !== 200 || (status !== 400 && status !== 413)) throw error
      onError(error)
      await report('cex', `result/${type}`, [{ id, ...failure(`The platform rejected the result: ${message}`) }])
      return 500
    }
  }

  /** Calls `onReported`. If it throws, the outcome is not reported again. */
  function reported(outcome: Report) {
    try {
      handlers.onReported?.(outcome)
    } catch (error) {
      onError(error)
    }
  }

  return { report, reportResult, reported }
}

export function createWork(
  handlers: Handlers,
  send: Send,
  download: (link: string) => Promise<SoftwareFile>,
  onError: (error: unknown) => void,
) {
  const { report, reportResult, reported } = createReports(handlers, send, onError)
  const outcomes = new Map<string, Promise<Outcome>>()
  /** Reports of results by command id, complete or still being sent. The platform would reject a second result of a command. */
  const reportedCommands = new Map<number, Promise<void>>()
  const known = new Map<string, string>()

  /** Runs a task, unless a task with this key has already started. Later calls with the key get the outcome of the first. */
  function once(key: string, task: () => unknown): Promise<Outcome> {
    const found = outcomes.get(key)
    if (found !== undefined) return found
    const outcome = run(task)
    outcomes.set(key, outcome)
    forgetOldest(outcomes)
    return outcome
  }

  /** Runs a command and reports its result. A command can arrive several times: as a push, and in the response to a poll. */
  function command(type: string, item: { id: number; payload?: unknown }): Promise<void> {
    const found = reportedCommands.get(item.id)
    if (found !== undefined) return found
    const processed = processCommand(type, item).catch((error) => {
      // The platform will send the command again. The device then reports the stored outcome.
      reportedCommands.delete(item.id)
      throw error
    })
    reportedCommands.set(item.id, processed)
    forgetOldest(reportedCommands)
    return processed
  }

  async function processCommand(type: string, { id, payload }: { id: number; payload?: unknown }) {
    if (handlers.onCommand === undefined) return
    const outcome = await once(`command ${id}`, async () =>
      jsonResult(await handlers.onCommand!({ id, type, payload })),
    )
    const statusCode = await reportResult(type, id, outcome)
    reported({ kind: 'command', name: type, statusCode })
  }

  async function commands(body: unknown, type?: string) {
    if (!Array.isArray(body)) return
    await Promise.all(body.map((item) => command(type ?? String(item.type), item)))
  }

  async function configuration(body: unknown, name: string | undefined) {
    const { configId, config } = (body ?? {}) as { configId?: string; config?: unknown }
    if (!configId || handlers.onConfiguration === undefined) return
    const outcome = await once(`configuration ${name ?? ''} ${configId}`, () =>
      handlers.onConfiguration!({ name, configId, config }),
    )
    const { payload: _, ...applied } = outcome
    await report('cmx', name === undefined ? 'applied/json' : `applied/json/${name}`, { configId, ...applied })
    known.set(`cmx ${name ?? ''}`, configId)
    reported({ kind: 'configuration', name, statusCode: outcome.statusCode })
  }

  async function software(body: unknown) {
    const { configId, config = null } = (body ?? {}) as { configId?: string; config?: Record<string, unknown> | null }
    if (!configId || handlers.onSoftware === undefined) return
    const link = config?.link
    const { payload: _, ...outcome } = await once(`software ${configId}`, () =>
      handlers.onSoftware!({ version: configId, config, download: () => download(String(link)) }),
    )
    // After a failure the outcome is not kept, so that the device tries the version again if the platform offers it again.
    if (outcome.statusCode !== 200) outcomes.delete(`software ${configId}`)
    await report('cmx_ota', 'applied/json', { configId, ...outcome })
    if (outcome.statusCode === 200) known.set('cmx_ota', configId)
    reported({ kind: 'software', name: configId, statusCode: outcome.statusCode })
  }

  const request = async (extension: string, resource: string, body: unknown) =>
    parse(await send({ extension, resource, payload: JSON.stringify(body) }))

  return {
    /** Processes a message that the platform pushed. */
    push(extension: string, path: string[], payload: string) {
      const [resource, second] = path
      const isRequestId = (part: string | undefined) => part !== undefined && /^\d+$/.test(part)
      const task = async () => {
        const body = parse(payload)
        if (extension === 'cex' && resource === 'command')
          await commands(body, second === undefined || isRequestId(second) ? undefined : second)
        else if (extension === 'cmx' && resource === 'config')
          await configuration(body, isRequestId(path[2]) ? undefined : path[2])
        else if (extension === 'cmx_ota' && resource === 'config') await software(body)
      }
      task().catch(onError)
    },
    /** Requests the software, configuration and commands that the platform has for the device. */
    async poll() {
      const knownConfig = (key: string) => ({ configId: known.get(key) ?? '' })
      if (handlers.onSoftware) await software(await request('cmx_ota', 'config/json', knownConfig('cmx_ota')))
      if (handlers.onConfiguration)
        await configuration(await request('cmx', 'config/json', knownConfig('cmx ')), undefined)
      if (handlers.onCommand) await commands(await request('cex', 'command', {}))
    },
    setSoftware: (version: string) => void known.set('cmx_ota', version),
  }
}

function forgetOldest(entries: Map<unknown, unknown>) {
  for (const oldest of entries.keys()) {
    if (entries.size <= rememberedMax) return
    entries.delete(oldest)
  }
}

async function run(task: () => unknown): Promise<Outcome> {
  try {
    const payload = await task()
    return { statusCode: 200, ...(payload !== undefined && { payload }) }
  } catch (error) {
    return failure(textOf(error))
  }
}

/** Maximum length of a reported reason. */
const reasonMax = 1000

/** Returns the outcome of a failure. The platform rejects reasons with NUL and halves of surrogate pairs. */
const failure = (reason: string): Outcome => ({
  statusCode: 500,
  reasonPhrase:
    reason.slice(0, reasonMax).replace(/\0|\p{Cs}/gu, '\ufffd') || 'The function has thrown an error without a message',
})

/** Returns the text of a thrown value, which can be anything. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error)
  } catch {
    return 'The function has thrown a value that is no text'
  }
}

/** Returns the result of a command. Throws if it cannot be sent, for example because it contains itself. */
function jsonResult(result: unknown): unknown {
  try {
    const text = JSON.stringify(result)
    return text === undefined ? undefined : JSON.parse(text)
  } catch (error) {
    throw new Error(`The result of the command cannot be sent as JSON: ${textOf(error)}`)
  }
}
