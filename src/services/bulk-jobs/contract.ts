import { contract } from '../../kernel/contract.ts'

/** The service has no functions for others: services start bulk tasks through `kit.bulk`, and this service lists them. */
export type Jobs = Record<never, never>
export const Jobs = contract<Jobs>('jobs')
