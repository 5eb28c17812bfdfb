import type { Identity } from '../../identity/contract.ts'
import { createBlobs } from '../../kernel/blobs/open.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { Tenants } from '../tenants/contract.ts'
import type { Tokens } from '../tokens/contract.ts'
import type { BinaryData } from './contract.ts'
import { createTally } from './service/allowance.ts'
import { createDeletions, type Deletions } from './service/deletions.ts'
import { createItemOperations, type ItemOperations } from './service/items.ts'
import { createListOperations, type ListOperations } from './service/lists.ts'
import { createOrphanContents, type OrphanContents } from './service/orphan-contents.ts'
import { createServiceContents } from './service/service-contents.ts'
import { claimBlobStore } from './service/shared-store.ts'
import { createUploadTokenOperations, type UploadTokenOperations } from './service/tokens.ts'
import { createUploadOperations, type UploadOperations } from './service/uploads.ts'
import type { BinaryDataSettings } from './settings.ts'

export interface BinaryDataService {
  tokens: UploadTokenOperations
  uploads: UploadOperations
  items: ItemOperations
  lists: ListOperations
  deletions: Deletions
  orphans: OrphanContents
  start(): Promise<void>
  api: BinaryData
}

export function createBinaryData(
  kit: Kit<BinaryDataSettings>,
  services: { identity: Identity; applications: Applications; register: Register; tenants: Tenants; tokens: Tokens },
): BinaryDataService {
  const blobs = createBlobs(kit.platform.blobs, kit.now)
  const orphans = createOrphanContents(kit, blobs)
  const tokens = createUploadTokenOperations(kit, services)
  const shared = { blobs, orphans, tenants: services.tenants, bytesByTenant: createTally() }
  return {
    tokens,
    uploads: createUploadOperations(kit, { ...shared, tokens }),
    items: createItemOperations(kit, { blobs, orphans }),
    lists: createListOperations(kit, services),
    deletions: createDeletions(kit, orphans, services.register),
    orphans,
    start: () => claimBlobStore(kit, blobs),
    api: { issueUploadToken: tokens.issue, contents: createServiceContents({ kit, ...shared }) },
  }
}
