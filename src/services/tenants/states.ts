/** Statuses of a tenant and their transitions (document 3, 2.4). Users and devices of AVAILABLE and UPDATING tenants can log in. */
import { transitionsOf } from '../../kernel/transitions.ts'

export const tenantStatuses = [
  'AVAILABLE',
  'SUSPENDED',
  'CREATING',
  'FAILED',
  'UPDATING',
  'DISABLED',
  'DELETED',
] as const
export type TenantStatus = (typeof tenantStatuses)[number]

/**
 * The cause of a transition: a request with `status`, a change of the catalogue entries that the realm is built from, the build job, or a
 * deletion.
 */
export type TransitionCause = 'status' | 'rebuild' | 'build' | 'deletion'

const deletable = tenantStatuses.filter((status) => status !== 'DELETED')

export const { isAllowed } = transitionsOf<TenantStatus, TransitionCause>([
  { from: 'CREATING', to: 'AVAILABLE', by: 'build' },
  { from: 'CREATING', to: 'FAILED', by: 'build' },
  { from: 'AVAILABLE', to: 'UPDATING', by: 'rebuild' },
  // This transition is not in the specification. It lets a caller repair a tenant with an unusable template by selecting another version.
  { from: 'FAILED', to: 'UPDATING', by: 'rebuild' },
  { from: 'UPDATING', to: 'AVAILABLE', by: 'build' },
  { from: 'UPDATING', to: 'FAILED', by: 'build' },
  { from: 'AVAILABLE', to: 'SUSPENDED', by: 'status' },
  { from: 'SUSPENDED', to: 'AVAILABLE', by: 'status' },
  { from: 'AVAILABLE', to: 'DISABLED', by: 'status' },
  { from: 'DISABLED', to: 'AVAILABLE', by: 'status' },
  ...deletable.map((from) => ({ from, to: 'DELETED' as const, by: 'deletion' as const })),
])
