import type { Value } from '../../time-series/contract.ts'
import { causeOf } from '../chain.ts'
import type { ActionDeps } from './deps.ts'
import { effectKey } from './effects.ts'
import { forEach, targetsOf } from './endpoints.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, isObject, read, textOf, timeOf } from './results.ts'

/** Stores a point in a time series. Its time is the result of `timestampExpression`, or else the current time. */
export async function timeSeries(deps: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const { kit, register, effects } = deps
  const targets = await targetsOf(run, register)
  const seriesName = textOf('timeSeriesName', run.action.fields.timeSeriesName)
  const values = valuesOf(await read(run, 'valuesExpression'))
  const timestampValue = await read(run, 'timestampExpression')
  const timestamp =
    timestampValue === undefined || timestampValue === null
      ? kit.now().getTime()
      : timeOf('timestampExpression', timestampValue)
  if (run.run.isTry) {
    const endpointIds = targets.endpoints.map(({ endpointId }) => endpointId)
    return { outcome: 'SUCCESS', wouldDo: { endpointIds, timeSeriesName: seriesName, timestamp, values } }
  }
  return await forEach(targets, async ({ endpointId, ...version }) => {
    const point = { endpointId, seriesName, timestamp, values, requestPath: seriesName }
    const put = () => deps.timeSeries.putPoints({ ...version, cause: causeOf(run.run) }, [point])
    await effects.once(effectKey(run, endpointId), put)
    return undefined
  })
}

/** Returns the values by name; a single value becomes `{value}`. */
function valuesOf(value: unknown): Record<string, Value> {
  if (value === undefined || value === null || Array.isArray(value))
    throw new ActionFailed('valuesExpression: expected an object of values, or one value')
  return (isObject(value) ? value : { value }) as Record<string, Value>
}
