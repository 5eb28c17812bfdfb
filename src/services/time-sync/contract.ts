import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because only devices use this service. Other services use the clock of the kit. */
export type TimeSync = Record<never, never>
export const TimeSync = contract<TimeSync>('time-sync')
