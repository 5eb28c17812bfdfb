import { contract } from '../../kernel/contract.ts'

export { type Codecs, createCodecs, type Decoded, type Encoded } from './codecs.ts'

/** Empty contract: people and networks use this service, other services reach its devices by commands. */
export type Lorawan = Record<never, never>
export const Lorawan = contract<Lorawan>('lorawan')
