import { contract } from '../../kernel/contract.ts'

/** No service calls this one. */
export type Ingest = Record<never, never>
export const Ingest = contract<Ingest>('ingest')

// The command line simulates a pipeline without a platform.
export { simulateFile } from './pipeline/simulate.ts'
