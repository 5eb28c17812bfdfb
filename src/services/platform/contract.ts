import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. */
export type Platform = Record<never, never>
export const Platform = contract<Platform>('platform')
