import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. This service handles events of other services and calls them. */
export type Rules = Record<never, never>
export const Rules = contract<Rules>('rules')
