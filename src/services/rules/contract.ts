import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. This service calls other services and handles their events. */
export type Rules = Record<never, never>
export const Rules = contract<Rules>('rules')
