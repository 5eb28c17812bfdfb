import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. */
export type Ingest = Record<never, never>
export const Ingest = contract<Ingest>('ingest')

// The command line uses this function to simulate a pipeline without a platform.
export { simulateFile } from './pipeline/simulate.ts'
