import { contract } from '../../kernel/contract.ts'

/** The contract is empty: an operation declares itself as `linkable`, and clients create links for it. */
export type Links = Record<never, never>
export const Links = contract<Links>('links')
