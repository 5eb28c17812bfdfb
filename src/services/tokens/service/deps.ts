import type { Kit } from '../../../kernel/define-service.ts'
import type { Applications } from '../../applications/contract.ts'
import type { TokenCache } from '../cache.ts'
import type { LookupKey } from '../lookup-key.ts'

/** Everything that the operations on tokens use. */
export interface TokenDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'jobs' | 'now' | 'newId'>
  applications: Applications
  key: LookupKey
  cache: TokenCache
}
