/** Limits of a script (document 5, 5.13). docs/reference/rules-context.md is generated from them. */
import { defaultLimits, type Limits, memoryMax, scriptLength } from '../../../../sandbox/limits.ts'

export const httpCalls = 20
export const endpointReads = 100
export const secretReads = 100
export const httpTimeoutMs = 5000
export const httpBytes = 1024 * 1024
export const pointsMax = 10_000
/** Maximum bytes of the JSON text of the points that one read returns. */
export const pointsBytes = 4 * 1024 * 1024
/** Maximum depth of a chain, and maximum number of its runs. */
export const chainDepth = 10
export const chainRuns = 200
/** Time for the actions of a rule that is executed on demand, after the rule itself has ended. */
export const actionsWaitMs = 5000

/**
 * The limits of all scripts of rules, in one object that all runs share: a message to a thread of the sandbox contains a shared object only
 * once, however many jobs refer to it.
 */
export const scriptLimits: Partial<Limits> = {
  calls: { http: httpCalls, read: endpointReads, secret: secretReads },
  // A page of 10,000 points is larger than the default limit.
  callBytes: pointsBytes,
}

const seconds = (ms: number) => `${ms / 1000} seconds`
export const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`

/** The limits as texts, for the documentation. */
export const limitsInWords: [limit: string, value: string, beyond: string][] = [
  ['Length of a script', `${scriptLength} characters`, 'the rule or action is refused with 400'],
  ['Time, including calls', seconds(defaultLimits.timeMs), 'the run fails with stage TIMEOUT'],
  ['Steps (loop iterations, calls)', `${defaultLimits.steps / 1e6} million`, 'the run fails with stage TIMEOUT'],
  ['Memory of all values', mebibytes(memoryMax), 'the run fails'],
  ['Size of the result', mebibytes(defaultLimits.resultBytes), 'the run fails'],
  [
    'Lines of `console.log`',
    `${defaultLimits.logLines} lines and ${defaultLimits.logBytes / 1024} KiB`,
    'further lines are left out, and a last line says so',
  ],
  ['Calls of `httpClient`', String(httpCalls), 'the call throws'],
  ['Time of one call', seconds(httpTimeoutMs), 'the call returns an `error`'],
  ['Size of one response', mebibytes(httpBytes), 'the call returns an `error`'],
  ['Reads of endpoints', String(endpointReads), 'the read throws'],
  ['Reads of secrets', String(secretReads), 'the read throws'],
  ['Points of `range` and `last`', String(pointsMax), 'the read throws'],
  ['Size of these points as JSON', mebibytes(pointsBytes), 'the read throws'],
  ['Depth of a chain of runs', String(chainDepth), 'the run fails with stage DEPTH_LIMIT'],
  ['Runs of a chain', String(chainRuns), 'the run fails with stage DEPTH_LIMIT'],
]
