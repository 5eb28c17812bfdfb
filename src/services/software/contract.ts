import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. Services handle its events. */
export type Software = Record<never, never>
export const Software = contract<Software>('software')
