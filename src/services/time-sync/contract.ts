import { contract } from '../../kernel/contract.ts'

/** Other services read their clock from the kit; only devices ask. */
export type TimeSync = Record<never, never>
export const TimeSync = contract<TimeSync>('time-sync')
