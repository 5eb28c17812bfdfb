/**
 * The worker thread, which runs batches of scripts. A host call blocks this thread until the pool replies or the time of the script is
 * over.
 */
import { readlinkSync } from 'node:fs'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { monotonicMs } from './clock.ts'
import { type Limits, stepUnit } from './limits.ts'
import { createMachine, type GuestReply, type Machine, type Opened, OutOfMemory, type Script } from './machine.ts'
import { type Checked, type FailureText, type Outcome, readFailure } from './outcome.ts'
import {
  type BatchMessage,
  type CallReply,
  cells,
  type FromWorker,
  type JobMessage,
  type NextOutcome,
  type WorkerData,
} from './protocol.ts'

const { shared, replies, module, worlds, memoryBytes } = workerData as WorkerData
const pool = parentPort!
const post = (message: FromWorker) => pool.postMessage(message)

/** Outcomes that wait to be sent together, because a message for each outcome would cost as much as a small script. */
let unsent: [unit: number, outcome: NextOutcome][] = []
const outcomesPerMessage = 32

/** The run in progress. */
interface Run {
  unit: number
  limits: Limits
  startedAt: number
  steps: number
  log: string[]
  logBytes: number
  calls: Record<string, number>
  stopped: string | undefined
  /** True for the second script of a job with `next`. */
  isNext: boolean
  /** True if this second script has called a host function. */
  needsCalls: boolean
}

let run: Run
/** True if a further run of the script may have another outcome. */
let varies = false

/** Ends a run from within a host call. A script can catch the errors of the guest, but not this error. */
class RunStopped extends Error {
  override readonly name = 'RunStopped'
}

const machine: Machine = createMachine(
  { module, worlds, memoryBytes },
  {
    interrupt() {
      // A long script must not delay the outcomes of earlier scripts.
      if (unsent.length > 0) send(false)
      run.steps += stepUnit
      const { limits, steps, startedAt } = run
      if (steps > limits.steps) run.stopped ??= `the script ran for more than ${limits.steps} steps`
      else if (monotonicMs() - startedAt > limits.timeMs) run.stopped ??= timeoutText(limits)
      return run.stopped !== undefined
    },
    log(line) {
      const { limits, log } = run
      run.logBytes += Buffer.byteLength(line)
      if (log.length < limits.logLines && run.logBytes <= limits.logBytes) log.push(line)
      else if (log.at(-1) !== logEnd) log.push(logEnd)
    },
    varies() {
      varies = true
    },
    call: callHost,
  },
)

const logEnd = 'console.log: further lines were left out'
const timeoutText = ({ timeMs }: Limits) => `the script ran for more than ${timeMs / 1000} seconds`

let lastCall = 0

function callHost(name: string, args: string): string {
  const { limits, calls } = run
  const max = Object.hasOwn(limits.calls, name) ? limits.calls[name]! : undefined
  if (max === undefined) return `-there is no host function ${name.slice(0, 100)}`
  calls[name] = (calls[name] ?? 0) + 1
  varies = true
  if (run.isNext) {
    run.needsCalls = true
    throw new RunStopped()
  }
  if (calls[name] > max) return `-more than ${max} calls of ${name}`
  if (Buffer.byteLength(args) > limits.callBytes)
    return `-the arguments of ${name} have more than ${limits.callBytes} bytes`
  if (unsent.length > 0) send(false)
  const call = ++lastCall
  Atomics.store(shared, cells.replied, 0)
  Atomics.store(shared, cells.waiting, 1)
  post({ type: 'call', unit: run.unit, call, name, args })
  try {
    return waitForReply(call)
  } finally {
    Atomics.store(shared, cells.waiting, 0)
  }
}

function waitForReply(call: number): string {
  for (;;) {
    const left = run.limits.timeMs - (monotonicMs() - run.startedAt)
    if (left <= 0 || Atomics.wait(shared, cells.replied, 0, left) === 'timed-out') {
      run.stopped ??= timeoutText(run.limits)
      throw new RunStopped()
    }
    Atomics.store(shared, cells.replied, 0)
    for (let got = receiveMessageOnPort(replies); got; got = receiveMessageOnPort(replies)) {
      const message: CallReply = got.message
      if (message.call === call) return message.reply
    }
  }
}

function send(isLast: boolean) {
  post({ type: 'outcomes', outcomes: unsent, isLast })
  unsent = []
}

function runBatch({ jobs }: BatchMessage) {
  let first = 0
  for (const job of jobs) {
    let opened: ReturnType<Machine['open']> | undefined
    let before: Outcome | undefined
    for (let index = 0; index < job.scripts.length; index++) {
      const unit = Atomics.add(shared, cells.claimed, 1)
      // The pool has withdrawn the remaining units.
      if (unit !== first + index) return finishBatch()
      Atomics.store(shared, cells.current, unit + 1)
      const input = index > 0 && job.next ? inputOfNext(job, before) : job.input
      if (input === undefined) {
        unsent.push([unit, 'NOT_RUN'])
        continue
      }
      startRun(unit, job.limits, index > 0 && job.next !== undefined)
      const outcome = runScript(job, job.scripts[index]!, () => {
        const [only, another] = job.next ? [job.scripts[index]] : job.scripts.slice(index)
        if (job.next) opened = undefined
        opened ??= machine.open(job.world, job.tenantId, input, another ? undefined : only)
        return opened
      })
      before = outcome
      unsent.push([unit, run.needsCalls ? 'NEEDS_CALLS' : outcome])
      // A run with host calls must not be repeated after a crash, so its outcome is sent immediately.
      if (unsent.length >= outcomesPerMessage || Object.keys(run.calls).length > 0) send(false)
    }
    first += job.scripts.length
  }
  finishBatch()
}

function finishBatch() {
  send(true)
  Atomics.store(shared, cells.current, 0)
}

/** Returns the input of the second script, or undefined if that script must not run. */
function inputOfNext({ input, next }: JobMessage, before: Outcome | undefined): string | undefined {
  const { unless, member, valueAt } = next!
  if (!before?.ok || unless.includes(before.json)) return undefined
  return `${input.slice(0, valueAt)}${before.kept[member]}}`
}

function startRun(unit: number, limits: Limits, isNext: boolean) {
  varies = false
  run = {
    unit,
    limits,
    startedAt: monotonicMs(),
    steps: 0,
    log: [],
    logBytes: 0,
    calls: {},
    stopped: undefined,
    isNext,
    needsCalls: false,
  }
}

/** Parses and compiles a script. */
function checkScript(script: Script, limits: Limits, open: () => Opened | { failure: GuestReply }): Outcome {
  const result = (checked: Checked): Outcome => ({ ok: true, json: JSON.stringify(checked), kept: {}, ...ending() })
  const parsed = parseScript!(script.text)
  if (!parsed.ok) return result(parsed)
  try {
    const opened = open()
    if ('failure' in opened) return failed(failureOfInput(opened.failure))
    const { reply } = machine.evaluate(opened, script, limits.resultBytes, [])
    if (reply?.[0] === '=') return result(parsed)
    return result({ ...parsed, ...readFailure(reply, script.text, limits.resultBytes), ok: false })
  } catch (error) {
    return failed(failureOfHost(error))
  }
}

function runScript(job: JobMessage, script: Script, open: () => Opened | { failure: GuestReply }): Outcome {
  if (script.isChecked) return checkScript(script, job.limits, open)
  const { resultBytes } = job.limits
  let reply: GuestReply
  let kept: GuestReply[] = []
  try {
    const opened = open()
    if ('failure' in opened) return failed(failureOfInput(opened.failure))
    ;({ reply, kept } = machine.evaluate(opened, script, resultBytes, job.keep))
  } catch (error) {
    return failed(failureOfHost(error))
  }
  if (run.stopped !== undefined) return failed({ reason: 'TIMEOUT', message: run.stopped })
  const texts = [reply, ...kept]
  const bad = texts.findIndex((text) => text?.[0] !== '=')
  if (bad > 0) return failed(failureOfKept(job.keep[bad - 1]!, readFailure(texts[bad], script.text, resultBytes)))
  if (bad === 0) return failed(readFailure(reply, script.text, resultBytes))
  const [json, ...keptJson] = texts.map((text) => text!.slice(1))
  if ([json, ...keptJson].some((text) => Buffer.byteLength(text!) > resultBytes))
    return failed(readFailure('>', script.text, resultBytes))
  if (![json, ...keptJson].every((text) => isJson(text!)))
    return failed({ reason: 'CRASH', message: 'the sandbox returned a text that is not JSON' })
  return {
    ok: true,
    json: json!,
    kept: Object.fromEntries(job.keep.map((name, index) => [name, keptJson[index]!])),
    ...ending(),
  }
}

const ending = () => ({
  log: run.log,
  durationMs: monotonicMs() - run.startedAt,
  ...(varies && { varies: true as const }),
})
const failed = (failure: FailureText): Outcome => ({ ok: false, ...failure, ...ending() })

/** Returns whether the text is JSON. It comes from the guest, which is not trusted. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function failureOfInput(reply: GuestReply): FailureText {
  const { reason, message } = readFailure(reply, '', 0)
  return reason === 'MEMORY'
    ? { reason, message }
    : { reason: 'INPUT', message: `the context cannot be read: ${message}` }
}

const failureOfKept = (name: string, failure: FailureText): FailureText => ({
  ...failure,
  message: `ctx.${name}: ${failure.message}`,
})

/** Returns the failure for an error that the machine threw: the time of the run ended during a host call, or WebAssembly trapped. */
function failureOfHost(error: unknown): FailureText {
  if (run.stopped !== undefined) return { reason: 'TIMEOUT', message: run.stopped }
  if (error instanceof OutOfMemory) return { reason: 'MEMORY', message: 'the script used too much memory' }
  if (error instanceof RangeError) return { reason: 'ERROR', message: 'RangeError: Maximum call stack size exceeded' }
  return { reason: 'CRASH', message: 'the script crashed the sandbox' }
}

/** The parser, which is loaded for the first check. Most threads only run scripts. */
let parseScript: typeof import('./parse.ts').parseScript | undefined

const needsParser = ({ jobs }: BatchMessage) => jobs.some(({ scripts }) => scripts.some(({ isChecked }) => isChecked))

pool.on('message', async (batch: BatchMessage) => {
  if (!parseScript && needsParser(batch)) ({ parseScript } = await import('./parse.ts'))
  runBatch(batch)
})
post({ type: 'ready', threadId: nativeThreadId() })

/** Returns the id of this thread in Linux, so that the pool can change its priority. Returns undefined on other systems. */
function nativeThreadId(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return undefined
  }
}
