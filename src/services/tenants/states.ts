/** The life of a tenant (document 3, 2.4) as data. Only AVAILABLE tenants log in and talk. */
import { movesOf } from '../../kernel/moves.ts'

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

/** Who makes a move: people by `status`, people by changing what the realm is built from, the building job, DELETE. */
export type Mover = 'status' | 'rebuild' | 'build' | 'deletion'

const deletable = tenantStatuses.filter((status) => status !== 'DELETED')

export const { mayMove } = movesOf<TenantStatus, Mover>([
  { from: 'CREATING', to: 'AVAILABLE', by: 'build' },
  { from: 'CREATING', to: 'FAILED', by: 'build' },
  { from: 'AVAILABLE', to: 'UPDATING', by: 'rebuild' },
  // Ours: a tenant whose template was unusable is repaired by naming another version.
  { from: 'FAILED', to: 'UPDATING', by: 'rebuild' },
  { from: 'UPDATING', to: 'AVAILABLE', by: 'build' },
  { from: 'UPDATING', to: 'FAILED', by: 'build' },
  { from: 'AVAILABLE', to: 'SUSPENDED', by: 'status' },
  { from: 'SUSPENDED', to: 'AVAILABLE', by: 'status' },
  { from: 'AVAILABLE', to: 'DISABLED', by: 'status' },
  { from: 'DISABLED', to: 'AVAILABLE', by: 'status' },
  ...deletable.map((from) => ({ from, to: 'DELETED' as const, by: 'deletion' as const })),
])
