/** Limits of one run of a script. */
export interface Limits {
  /** Maximum time from the start of the script to its result, including host calls. */
  timeMs: number
  /** Maximum number of loop iterations, function calls and steps of regular expressions. They are counted in units of `stepUnit`. */
  steps: number
  /** Maximum UTF-8 bytes of the result, and of each context member that is kept. */
  resultBytes: number
  logLines: number
  /** Maximum UTF-8 bytes of all log lines. */
  logBytes: number
  /** Maximum number of calls of each host function. A function that is not listed cannot be called. */
  calls: Record<string, number>
  /** Maximum UTF-8 bytes of the arguments and of the result of one host call. */
  callBytes: number
}

/** QuickJS calls the interrupt handler after this number of steps. */
export const stepUnit = 10_000

/**
 * Limits of scripts for which the caller sets no others. 100 million steps take about four seconds of one core, so the limit of steps
 * usually ends an endless loop before the time limit does.
 */
export const defaultLimits: Limits = {
  timeMs: 5000,
  steps: 100_000_000,
  resultBytes: 1024 * 1024,
  logLines: 1000,
  logBytes: 64 * 1024,
  calls: {},
  callBytes: 1024 * 1024,
}

/** Maximum memory of all values of a script. The limit of the WebAssembly memory is a little higher (`engine.ts`). */
export const memoryMax = 64 * 1024 * 1024

/** Maximum length of a script, in UTF-16 code units (document 5, 5.4). */
export const scriptLength = 65_536

/** Maximum size of a context as JSON text. */
export const inputLength = 8 * 1024 * 1024
