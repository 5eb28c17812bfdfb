import type { Identity } from '../../src/identity/contract.ts'
import realIdentity from '../../src/identity/index.ts'
import type { AnyService } from '../../src/kernel/define-service.ts'

/** Wraps the real identity service. A test can make calls of `buildRealm` fail. */
export function failingIdentity() {
  const built: string[] = []
  const failures: { tenantId: string; error: Error }[] = []
  const service: AnyService = {
    ...realIdentity,
    build(kit, needed) {
      const real = realIdentity.build(kit, needed as never)
      const buildRealm: Identity['buildRealm'] = async (sql, spec) => {
        built.push(spec.tenantId)
        await real.api.buildRealm(sql, spec)
        const failure = failures.findIndex(({ tenantId }) => tenantId === spec.tenantId)
        if (failure >= 0) throw failures.splice(failure, 1)[0]!.error
      }
      return { ...real, api: { ...real.api, buildRealm } }
    },
  }
  return {
    service,
    /** Tenants of all calls of `buildRealm`, including failed calls. */
    built,
    /** Makes the next calls of `buildRealm` for this tenant throw these errors in order, after each call has written its rows. */
    failBuilding(tenantId: string, ...errors: Error[]) {
      failures.push(...errors.map((error) => ({ tenantId, error })))
    },
  }
}
