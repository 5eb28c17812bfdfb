import { contract } from '../../kernel/contract.ts'

/** No other service calls this one; they handle its events. */
export type Software = Record<never, never>
export const Software = contract<Software>('software')
