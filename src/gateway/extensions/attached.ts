import type { Behind, DataCollection } from '../contract.ts'

/** What stands behind the extensions, once the services there have said so. */
export interface Attached extends Partial<Omit<Behind, 'dcx'>> {
  receivers: DataCollection[]
}

export function attachTo(attached: Attached, { dcx, ...others }: Partial<Behind>) {
  if (dcx) attached.receivers.push(dcx)
  for (const name of Object.keys(others) as (keyof typeof others)[])
    if (attached[name]) throw new Error(`there is something behind ${name} already`)
  Object.assign(attached, others)
}
