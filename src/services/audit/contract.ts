import { contract } from '../../kernel/contract.ts'

/** The contract is empty: the kernel itself writes the audit log (`kit.audit`) and counts the usage (`kit.quota`). */
export type Audit = Record<never, never>
export const Audit = contract<Audit>('audit')
