import { contract } from '../../kernel/contract.ts'

/** No other service calls this one: it reacts to their events and calls them. */
export type Rules = Record<never, never>
export const Rules = contract<Rules>('rules')
