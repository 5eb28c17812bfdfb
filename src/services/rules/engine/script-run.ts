/** Runs scripts in the world of rules. */
import type { Outcome } from '../../../sandbox/outcome.ts'
import { type Sandbox, SandboxBusy } from '../../../sandbox/sandbox.ts'
import type { Host } from './context/host.ts'
import { scriptLimits } from './context/limits.ts'

export const keepNothing: string[] = []

export interface ScriptRun {
  tenantId: string
  /** JSON text of `ContextInput`. */
  input: string
  script: string
  call: Host['call']
  /** Members of `ctx` to return together with the result of the script. Returning a member takes time. */
  keep?: string[]
  /** True if another script waits for this script, because the other script called the platform's API. */
  isNested?: boolean
}

/** Runs a script in the world of rules. If the queue of the tenant is full, the outcome is a failure, like an error of the script. */
export const runScript = (sandbox: Pick<Sandbox, 'run'>, { script, ...request }: ScriptRun): Promise<Outcome> =>
  sandbox.run({ ...requestOf(request), script }).catch(outcomeOfBusy)

export const requestOf = ({
  tenantId,
  input,
  call,
  keep = keepNothing,
  isNested = false,
}: Omit<ScriptRun, 'script'>) => ({
  tenantId,
  isNested,
  world: 'rule',
  input,
  keep,
  limits: scriptLimits,
  call,
})

/** Returns the outcome for a tenant whose queue is full. */
export function outcomeOfBusy(error: unknown): Outcome {
  if (!(error instanceof SandboxBusy)) throw error
  return { ok: false, reason: 'ERROR', message: `the queue is full: ${error.message}`, log: [], durationMs: 0 }
}
