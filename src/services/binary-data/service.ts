import type { Identity } from '../../identity/contract.ts'
import { createBlobs } from '../../kernel/blobs/open.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { Tenants } from '../tenants/contract.ts'
import type { Tokens } from '../tokens/contract.ts'
import type { BinaryData } from './contract.ts'
import { createTally } from './service/allowance.ts'
import { createDeletionRules, type DeletionRules } from './service/deletions.ts'
import { createItemRules, type ItemRules } from './service/items.ts'
import { createListRules, type ListRules } from './service/lists.ts'
import { createOrphanContents, type OrphanContents } from './service/orphan-contents.ts'
import { createServiceContents } from './service/service-contents.ts'
import { claimBlobStore } from './service/shared-store.ts'
import { createTokenRules, type TokenRules } from './service/tokens.ts'
import { createUploadRules, type UploadRules } from './service/uploads.ts'
import type { BinaryDataSettings } from './settings.ts'

export interface BinaryDataService {
  tokens: TokenRules
  uploads: UploadRules
  items: ItemRules
  lists: ListRules
  deletions: DeletionRules
  orphans: OrphanContents
  start(): Promise<void>
  api: BinaryData
}

export function createBinaryData(
  kit: Kit<BinaryDataSettings>,
  given: { identity: Identity; applications: Applications; register: Register; tenants: Tenants; tokens: Tokens },
): BinaryDataService {
  const blobs = createBlobs(kit.platform.blobs, kit.now)
  const orphans = createOrphanContents(kit, blobs)
  const tokens = createTokenRules(kit, given)
  const shared = { blobs, orphans, tenants: given.tenants, ofTenant: createTally() }
  return {
    tokens,
    uploads: createUploadRules(kit, { ...shared, tokens }),
    items: createItemRules(kit, { blobs, orphans }),
    lists: createListRules(kit, given),
    deletions: createDeletionRules(kit, orphans),
    orphans,
    start: () => claimBlobStore(kit, blobs),
    api: { issueUploadToken: tokens.issue, contents: createServiceContents({ kit, ...shared }) },
  }
}
