import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import type { createSigner } from '../signing-keys.ts'
import type { Realm } from '../types.ts'
import type { Library } from './library.ts'

/** Dependencies that the parts of one realm's instance share. */
export interface InstanceContext {
  kit: Kit
  core: Core
  library: Library
  /** A snapshot of the realm. A new revision of the realm gets a new instance. */
  realm: Realm
  issuer: string
  /** Path of the realm in URLs, without a trailing slash. */
  mount: string
  signer: Awaited<ReturnType<typeof createSigner>>
}

export const epochSeconds = ({ now }: Pick<Kit, 'now'>) => Math.floor(now().getTime() / 1000)
