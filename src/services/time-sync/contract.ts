import { contract } from '../../kernel/contract.ts'

/** Empty contract: only devices use this service; other services have the clock of the kit. */
export type TimeSync = Record<never, never>
export const TimeSync = contract<TimeSync>('time-sync')
