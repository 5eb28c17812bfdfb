/**
 * Selects the endpoints of an action: the endpoint of the run, or the endpoints that `endpointIdsExpression` names. They must belong to the
 * same tenant.
 */
import { PlatformError } from '../../../kernel/errors.ts'
import type { EndpointRef, Register } from '../../register/contract.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, endpointIdsOf, read } from './results.ts'

const attribute = 'endpointIdsExpression'
const concurrentMax = 10

export interface Targets {
  endpoints: EndpointRef[]
  /** Endpoints that do not exist, or belong to another tenant. */
  failed: Failed[]
}

interface Failed {
  endpointId: string
  reason: string
}

export async function targetsOf(run: ActionRun, register: Pick<Register, 'findAll'>): Promise<Targets> {
  const { endpoint, tenantId } = run.run
  const isGiven = run.action.fields[attribute] !== undefined && run.action.fields[attribute] !== null
  if (!isGiven && !endpoint) throw new ActionFailed('the run has no endpoint, and the action names no endpoint')
  const ids = isGiven ? endpointIdsOf(attribute, await read(run, attribute)) : [endpoint!.endpointId]
  const found = ids.length > 0 ? await register.findAll(ids) : new Map<string, EndpointRef>()
  const targets: Targets = { endpoints: [], failed: [] }
  for (const endpointId of ids) {
    const known = found.get(endpointId)
    if (known?.tenantId === tenantId) targets.endpoints.push(known)
    else targets.failed.push({ endpointId, reason: 'there is no such endpoint' })
  }
  return targets
}

/** Does the work for all endpoints. A failure names its endpoint and does not stop the work for other endpoints (document 5, 5.12). */
export async function forEach(
  { endpoints, failed }: Targets,
  work: (endpoint: EndpointRef) => Promise<Record<string, unknown> | undefined>,
): Promise<ActionOutcome> {
  const failures = [...failed]
  const results: Record<string, unknown>[] = []
  for (let from = 0; from < endpoints.length; from += concurrentMax)
    await Promise.all(
      endpoints.slice(from, from + concurrentMax).map(async (endpoint) => {
        try {
          const result = await work(endpoint)
          if (result) results.push({ endpointId: endpoint.endpointId, ...result })
        } catch (error) {
          failures.push({ endpointId: endpoint.endpointId, reason: reasonOf(error) })
        }
      }),
    )
  const metadata = results.length > 0 ? { results } : undefined
  if (failures.length === 0) return { outcome: 'SUCCESS', ...(metadata && { metadata }) }
  const [first] = failures
  const more = failures.length > 1 ? `, and ${failures.length - 1} more` : ''
  return {
    outcome: 'FAILURE',
    stage: 'ACTION_EXECUTION',
    reason: `${first!.endpointId}: ${first!.reason}${more}`,
    metadata: { ...metadata, failed: failures },
  }
}

/** Returns the reason of a failure. An error of the platform itself is thrown instead, so that the engine runs the event again. */
function reasonOf(error: unknown): string {
  if (error instanceof ActionFailed) return error.message
  if (error instanceof PlatformError && error.status < 500) return error.message
  throw error
}
