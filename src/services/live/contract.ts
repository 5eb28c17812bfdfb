import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. Services define topics with `kit.live`. */
export type LiveStreams = Record<never, never>
export const LiveStreams = contract<LiveStreams>('live')
