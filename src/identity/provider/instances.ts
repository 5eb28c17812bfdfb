/** Caches the instances of oidc-provider by realm. The least recently used instance is evicted. */
import type { Provider } from 'oidc-provider'
import { createCache } from '../../kernel/cache.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import type { Realm } from '../types.ts'
import { createInstance } from './instance.ts'

const instancesMax = 100

/** Identifies a state of a realm. The cookie key is included, because a deleted realm with the same name had a different cookie key. */
const versionOf = ({ revision, cookieKeySealed }: Realm) => `${revision} ${cookieKeySealed}`

export interface Instance {
  provider: Provider
  handle: ReturnType<Provider['callback']>
}

export function createInstances(kit: Kit, core: Core) {
  const instances = createCache<{ version: string; instance: Promise<Instance> }>({ max: instancesMax })

  function createEntry(realm: Realm) {
    const instance = createInstance(kit, core, realm).then((provider) => ({ provider, handle: provider.callback() }))
    const entry = { version: versionOf(realm), instance }
    instance.catch(() => {
      if (instances.get(realm.tenantId) === entry) instances.drop(realm.tenantId)
    })
    return entry
  }

  return {
    /** Returns the instance for this revision of the realm. Creates the signing key first if the realm has no signing key. */
    async get(requested: Realm): Promise<Instance> {
      const realm = await core.signingKeys.ensure(requested)
      const cached = instances.get(realm.tenantId)
      const entry = cached?.version === versionOf(realm) ? cached : createEntry(realm)
      if (entry !== cached) instances.set(realm.tenantId, entry)
      return entry.instance
    },
    get size() {
      return instances.size
    },
  }
}
export type Instances = ReturnType<typeof createInstances>
