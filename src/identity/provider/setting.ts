import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import type { createSigner } from '../keys.ts'
import type { Realm } from '../types.ts'
import type { Library } from './library.ts'

/** What the parts of one realm's instance share. */
export interface Setting {
  kit: Kit
  core: Core
  library: Library
  /** A snapshot: another revision of the realm is another instance. */
  realm: Realm
  issuer: string
  /** The path of the realm in a browser, without a slash at its end. */
  mount: string
  signer: Awaited<ReturnType<typeof createSigner>>
}

export const epochSeconds = ({ now }: Pick<Kit, 'now'>) => Math.floor(now().getTime() / 1000)
