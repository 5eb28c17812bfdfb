/** The life of a tenant (document 3, 2.4) as data. Only AVAILABLE tenants log in and talk. */
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

interface Move {
  from: TenantStatus
  to: TenantStatus
  by: Mover
}

const deletable = tenantStatuses.filter((status) => status !== 'DELETED')

export const moves: readonly Move[] = [
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
  ...deletable.map((from): Move => ({ from, to: 'DELETED', by: 'deletion' })),
]

export const mayMove = (from: TenantStatus, to: TenantStatus, by: Mover): boolean =>
  moves.some((move) => move.from === from && move.to === to && move.by === by)
