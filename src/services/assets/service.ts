/** Assembles the parts of the asset manager. */
import type { Identity } from '../../identity/contract.ts'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Register } from '../register/contract.ts'
import { type AssetOperations, createAssetOperations } from './service/assets.ts'
import { createDeletionOperations, type DeletionOperations } from './service/deletions.ts'
import { createRelationListOperations, type RelationListOperations } from './service/relation-lists.ts'
import { createRelationOperations, type RelationOperations } from './service/relations.ts'
import { createTreeOperations, type TreeOperations } from './service/trees.ts'
import { type AssetTypeOperations, createAssetTypeOperations } from './service/types.ts'

export interface AssetsService {
  types: AssetTypeOperations
  assets: AssetOperations
  relations: RelationOperations & RelationListOperations & TreeOperations
  deletions: DeletionOperations
}

/** Limits of searches and trees. Both read many rows, so one tenant must leave connections and processor time for other tenants. */
const scanLimits = { perTenant: 2, total: 4, waitingPerTenant: 50, waitMs: 10_000 }

export function createAssets(
  kit: Kit,
  { identity, register }: { identity: Identity; register: Register },
): AssetsService {
  const { db, bus, now, newId } = kit
  const scans = createConcurrencyLimit(scanLimits)
  return {
    types: createAssetTypeOperations({ db, now, newId, identity }),
    assets: createAssetOperations({ db, now, newId, identity, scans }),
    relations: {
      ...createRelationOperations({ db, bus, now, register }),
      ...createRelationListOperations({ db, register }),
      ...createTreeOperations({ db, register }, scans),
    },
    deletions: createDeletionOperations(kit, register),
  }
}
