import { causeOf } from '../chain.ts'
import type { ActionDeps } from './deps.ts'
import { forEach, targetsOf } from './endpoints.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, read, storableObjectOf } from './results.ts'

/** Merges an object into the metadata of endpoints. A key with the value null is deleted. */
export async function metadataUpdate({ register }: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const targets = await targetsOf(run, register)
  const metadata = storableObjectOf('metadataExpression', await read(run, 'metadataExpression'))
  const entries = Object.entries(metadata)
  const merge = Object.fromEntries(entries.filter(([, value]) => value !== null))
  const remove = entries.filter(([, value]) => value === null).map(([key]) => key)
  if (run.run.isTry) {
    const endpointIds = targets.endpoints.map(({ endpointId }) => endpointId)
    return { outcome: 'SUCCESS', wouldDo: { endpointIds, metadata } }
  }
  return await forEach(targets, async ({ endpointId }) => {
    const isKnown = await register.updateMetadata(endpointId, { merge, remove }, { cause: causeOf(run.run) })
    if (!isKnown) throw new ActionFailed('there is no such endpoint')
    return undefined
  })
}
