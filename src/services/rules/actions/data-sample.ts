import { causeOf } from '../chain.ts'
import type { ActionDeps } from './deps.ts'
import { effectKey } from './effects.ts'
import { forEach, targetsOf } from './endpoints.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, read } from './results.ts'

/** Processes samples as if the devices of the endpoints had sent them. */
export async function dataSample(
  { register, timeSeries, effects }: ActionDeps,
  run: ActionRun,
): Promise<ActionOutcome> {
  const targets = await targetsOf(run, register)
  const value = await read(run, 'dataSampleExpression')
  if (value === undefined || value === null)
    throw new ActionFailed('dataSampleExpression: expected a sample or an array of samples')
  const samples = Array.isArray(value) ? value : [value]
  if (run.run.isTry) {
    const endpointIds = targets.endpoints.map(({ endpointId }) => endpointId)
    return { outcome: 'SUCCESS', wouldDo: { endpointIds, samples } }
  }
  return await forEach(targets, async (endpoint) => {
    const receive = () => timeSeries.receive(endpoint, samples, { cause: causeOf(run.run) })
    await effects.once(effectKey(run, endpoint.endpointId), receive)
    return undefined
  })
}
