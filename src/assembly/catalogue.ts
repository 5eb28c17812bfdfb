import type { AnyService } from '../kernel/define-service.ts'

/** The plan of the house: every service once; what each needs decides the order in which they are built. */
export const catalogue: AnyService[] = []
