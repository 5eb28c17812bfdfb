import { contract } from '../../kernel/contract.ts'

export { type Codecs, createCodecs, type Decoded, type Encoded } from './codecs.ts'

/** The contract is empty, because only users and networks use this service. Other services reach its devices through commands. */
export type Lorawan = Record<never, never>
export const Lorawan = contract<Lorawan>('lorawan')
