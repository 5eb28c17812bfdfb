import { monotonicMilliseconds } from './clock.ts'
import { JavaThrow } from './errors.ts'

/** Limits for the processing of one document. */
export interface Limits {
  steps: number
  milliseconds: number
  bytes: number
}

export const documentLimits: Limits = { steps: 1_000_000, milliseconds: 1000, bytes: 16 * 1024 * 1024 }

/** Maximum depth of nested function calls. */
const depthMax = 400
/** Number of steps between two reads of the clock. */
const clockInterval = 256

/**
 * The counters of the document that is being processed. Scripts run synchronously, so one set of counters per thread is enough, and
 * closures can access the counters without a parameter.
 */
const meter = {
  steps: documentLimits.steps,
  nextCheck: 0,
  bytes: documentLimits.bytes,
  deadline: 0,
  depth: 0,
  limits: documentLimits,
}

/** Resets the counters. Called once for each document. */
export function startMeter(limits: Limits = documentLimits): void {
  meter.steps = limits.steps
  meter.nextCheck = Math.max(0, limits.steps - clockInterval)
  meter.bytes = limits.bytes
  meter.deadline = 0
  meter.depth = 0
  meter.limits = limits
}

/** Counts one step of a script. */
export function step(): void {
  if (--meter.steps <= meter.nextCheck) checkMeter()
}

/** Counts the steps of an operation whose cost grows with its operands. */
export function steps(count: number): void {
  meter.steps -= count
  if (meter.steps <= meter.nextCheck) checkMeter()
}

function checkMeter(): void {
  if (meter.steps <= 0)
    throw new JavaThrow(
      'org.opensearch.painless.PainlessError',
      `The script exceeds the limit of ${meter.limits.steps} steps per document.`,
      true,
    )
  const now = monotonicMilliseconds()
  // The clock starts at the first check. Most documents end earlier, and reading the clock would cost more than running their script.
  if (meter.deadline === 0) meter.deadline = now + meter.limits.milliseconds
  if (now > meter.deadline)
    throw new JavaThrow(
      'org.opensearch.painless.PainlessError',
      `The script exceeds the limit of ${meter.limits.milliseconds} ms per document.`,
      true,
    )
  meter.nextCheck = Math.max(0, meter.steps - clockInterval)
}

/** Counts bytes that a script allocates. Memory that the script releases is not subtracted. */
export function allocate(bytes: number): void {
  meter.bytes -= bytes
  if (meter.bytes < 0 || Number.isNaN(bytes))
    throw new JavaThrow(
      'java.lang.OutOfMemoryError',
      `The script exceeds the limit of ${meter.limits.bytes} bytes per document.`,
      true,
    )
}

/** Counts the allocation of a text of this many characters, and the work of building it. */
export function allocateText(characters: number): void {
  allocate(characters * 2 + 32)
  if (characters > 256) steps(characters >> 8)
}

/** Counts the work of reading a long text. */
export function readText(characters: number): void {
  if (characters > 256) steps(characters >> 6)
}

export function enterCall(): void {
  step()
  if (++meter.depth > depthMax)
    throw new JavaThrow('java.lang.StackOverflowError', `More than ${depthMax} calls are open.`, true)
}

export function leaveCall(): void {
  meter.depth--
}

/** Returns the number of nested calls at present. A `try` stores it, and `catch` restores it with `restoreDepth`. */
export const callDepth = (): number => meter.depth

export function restoreDepth(depth: number): void {
  meter.depth = depth
}

/** Returns the steps and bytes that the document has used so far. */
export function usage(): { steps: number; bytes: number } {
  return { steps: meter.limits.steps - meter.steps, bytes: meter.limits.bytes - meter.bytes }
}
