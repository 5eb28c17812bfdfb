import { contract } from '../../kernel/contract.ts'

/** No other service calls this one: they define topics with `kit.live`. */
export type LiveStreams = Record<never, never>
export const LiveStreams = contract<LiveStreams>('live')
