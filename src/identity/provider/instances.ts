/** Instances by realm, a bounded number; the least recently used one leaves. */
import type { Provider } from 'oidc-provider'
import { createCache } from '../../kernel/cache.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import type { Realm } from '../types.ts'
import { createInstance } from './instance.ts'

const instancesMax = 100

/** A realm that was deleted and made again counts from one again, but has another cookie key. */
const versionOf = ({ revision, cookieKeySealed }: Realm) => `${revision} ${cookieKeySealed}`

export interface Instance {
  provider: Provider
  handle: ReturnType<Provider['callback']>
}

export function createInstances(kit: Kit, core: Core) {
  const instances = createCache<{ version: string; made: Promise<Instance> }>({ max: instancesMax })

  function make(realm: Realm) {
    const made = createInstance(kit, core, realm).then((provider) => ({ provider, handle: provider.callback() }))
    const entry = { version: versionOf(realm), made }
    made.catch(() => {
      if (instances.get(realm.tenantId) === entry) instances.drop(realm.tenantId)
    })
    return entry
  }

  return {
    /** Of this revision of the realm; it has a signing key from here on. */
    async of(given: Realm): Promise<Instance> {
      const realm = await core.keys.ensure(given)
      const known = instances.get(realm.tenantId)
      const entry = known?.version === versionOf(realm) ? known : make(realm)
      if (entry !== known) instances.set(realm.tenantId, entry)
      return entry.made
    },
    get size() {
      return instances.size
    },
  }
}
export type Instances = ReturnType<typeof createInstances>
