import { contract } from '../../kernel/contract.ts'

/** The contract is empty: services start bulk tasks through `kit.bulk`, and this service lists them. */
export type Jobs = Record<never, never>
export const Jobs = contract<Jobs>('jobs')
