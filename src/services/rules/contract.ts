import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this one. It handles their events and calls them. */
export type Rules = Record<never, never>
export const Rules = contract<Rules>('rules')
