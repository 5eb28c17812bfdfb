import { contract } from '../../kernel/contract.ts'

/** The service has no functions for others: an operation declares `linkable`, and clients create links for it. */
export type Links = Record<never, never>
export const Links = contract<Links>('links')
