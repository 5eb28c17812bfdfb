/** Limits of one run of a script. */
export interface Limits {
  /** Time from the start of the script to its result, including host calls. */
  timeMs: number
  /** Loop iterations, function calls and steps of regular expressions; counted in units of `stepUnit`. */
  steps: number
  /** UTF-8 bytes of the result, and of each context member that is kept. */
  resultBytes: number
  logLines: number
  /** UTF-8 bytes of all log lines. */
  logBytes: number
  /** Maximum number of calls of each host function; a function that is not listed cannot be called. */
  calls: Record<string, number>
  /** UTF-8 bytes of arguments and result for one host call. */
  callBytes: number
}

/** QuickJS polls the interrupt handler after this number of steps. */
export const stepUnit = 10_000

/** 100 million steps take about four seconds of one core, so endless loops usually end before the time limit. */
export const defaultLimits: Limits = {
  timeMs: 5000,
  steps: 100_000_000,
  resultBytes: 1024 * 1024,
  logLines: 1000,
  logBytes: 64 * 1024,
  calls: {},
  callBytes: 1024 * 1024,
}

/** Maximum memory of all values that a script holds; WebAssembly memory is capped a little above it (`engine.ts`). */
export const memoryMax = 64 * 1024 * 1024

/** Maximum length of a script, in UTF-16 code units (document 5, 5.4). */
export const scriptLength = 65_536

/** Maximum size of a context as JSON text. */
export const inputLength = 8 * 1024 * 1024
