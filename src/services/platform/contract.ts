import { contract } from '../../kernel/contract.ts'

/** The service has no functions for others. */
export type Platform = Record<never, never>
export const Platform = contract<Platform>('platform')
