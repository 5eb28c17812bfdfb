/** Identifies the endpoint of a message by the version and token in its topic and the authentication of the client. */

import { createBatcher } from '../kernel/batcher.ts'
import type { Bus } from '../kernel/bus.ts'
import { createCache } from '../kernel/cache.ts'
import { createSemaphore } from '../kernel/concurrency-limit.ts'
import type { Extension } from '../kernel/device.ts'
import type { PlatformError } from '../kernel/errors.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { EndpointRef, Register } from '../services/register/contract.ts'
import { EndpointUnregistered, VersionUpdated } from '../services/register/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import { gatewayInstance } from './configuration.ts'
import type { Authentication } from './connection-state.ts'
import { DeviceUnknown, VersionUnknown } from './errors.ts'
import type { Tenant, Tenants, Transport } from './tenants.ts'
import type { Topic } from './topic.ts'

export interface Identified {
  tenant: Tenant
  /** Generation of the tenant at the time of identification. */
  generation: number
  applicationName: string
  versionName: string
  endpointId: string
  endpointTokenId: string
  token: string
  /** Undefined if the extension does not exist or this version may not use it. */
  extension: Extension | undefined
  /** Value of the revocation counter when identification began. */
  revocations: number
}

/** The reason why identification failed. `error` is for the device; the other fields are for the traffic log. */
export interface Failure {
  error: PlatformError
  /** The reason code in the traffic log, such as `token_unknown`. */
  reason: string
  detail?: string
  tenantId?: string
  /** Present if the token belongs to this endpoint. */
  endpointId?: string
  /** True if the connection must be closed. */
  close?: boolean
  /** True if the failure counts as a wrong token in the lockout of the address. */
  countsForLockout?: boolean
}

export const isFailure = (result: Identified | Failure): result is Failure => 'error' in result

export interface Identify {
  (
    topic: Topic,
    by: { transport: Transport; authentication: Authentication | undefined },
  ): Promise<Identified | Failure>
  /**
   * Returns true if no revocation has arrived since identification began. Call it immediately before the result is used, and identify again
   * if it returns false: event handlers cannot invalidate a result that does not exist yet when the event arrives.
   */
  isCurrent(identified: Identified): boolean
  /** Returns the extension with this name, or undefined if it does not exist or this version may not use it. */
  extensionOf(identified: Version, name: string): Promise<Extension | undefined>
}

interface Version {
  tenantId: string
  applicationName: string
  versionName: string
}

/** Maximum number of endpoints whose version is cached. */
const versionsMax = 50_000
/** Limits concurrent identifications, so that a reconnecting fleet does not delay other work of the database and the event loop. */
const concurrentMax = 128
/** Lookups within this time are made with one query. */
const batchMs = 3

export function createIdentify(deps: {
  bus: Bus
  tokens: Pick<Tokens, 'examine'>
  register: Pick<Register, 'findAll' | 'setVersion'>
  applications: Pick<Applications, 'findVersion' | 'derivedConfiguration'>
  tenants: Tenants
  extensions: () => ReadonlyMap<string, Extension>
}): Identify {
  const { bus, tokens, register, applications, tenants } = deps
  const readAllowedExtensions = applications.derivedConfiguration(
    gatewayInstance,
    (config): readonly string[] | undefined => config['allowed-extension-instances'],
  )
  const versions = createCache<string>({ max: versionsMax, bus })
  /** Counts events that may invalidate an identification that is under way. */
  let revocations = 0

  bus.subscribe(TokenStatusChanged, ({ to }) => {
    if (to !== 'Active') revocations++
  })
  bus.subscribe(TokensDeleted, () => void revocations++)
  bus.subscribe(EndpointUnregistered, ({ endpointIds }) => {
    revocations++
    for (const endpointId of endpointIds) versions.drop(endpointId)
  })
  // A new version of an endpoint revokes nothing, because bindings.ts updates the version of bound endpoints.
  versions.dropOn(VersionUpdated, ({ endpointId }) => endpointId)
  bus.onReset(() => void revocations++)

  const findEndpoint = createBatcher<string, EndpointRef>(
    async (endpointIds) => {
      const found = await register.findAll(endpointIds)
      return endpointIds.map((endpointId) => found.get(endpointId))
    },
    concurrentMax,
    batchMs,
  )
  const runLimited = createSemaphore(concurrentMax)

  /** Sets the version of the endpoint in the register if it differs. Returns false if the endpoint does not exist. */
  async function updateVersion(endpointId: string, versionName: string): Promise<boolean> {
    if (versions.get(endpointId) === versionName) return true
    const endpoint = await findEndpoint(endpointId)
    if (!endpoint) return false
    if (endpoint.versionName !== versionName && !(await register.setVersion(endpointId, versionName))) return false
    versions.set(endpointId, versionName)
    return true
  }

  async function identify(topic: Topic, by: Parameters<Identify>[1]): Promise<Identified | Failure> {
    const revocationsBefore = revocations
    const { versionName, token } = topic
    const version = await applications.findVersion(versionName)
    if (!version) return { error: VersionUnknown({ versionName }), reason: 'version_unknown', countsForLockout: true }
    const { tenantId, applicationName } = version
    const tenant = await tenants.get(tenantId)
    if (!tenant?.available) return { error: DeviceUnknown(), reason: 'tenant_not_available', tenantId }
    const { generation } = tenant
    const detail = missingMethod(tenant, by)
    if (detail) return { error: DeviceUnknown(), reason: 'authentication_required', detail, tenantId, close: true }
    if (by.authentication && by.authentication.tenantId !== tenantId)
      return {
        error: DeviceUnknown(),
        reason: 'other_tenant',
        tenantId: by.authentication.tenantId,
        countsForLockout: true,
      }
    const found = await tokens.examine({ token, versionName })
    if (!found) return { error: DeviceUnknown(), reason: 'token_unknown', tenantId, countsForLockout: true }
    const { endpointId } = found
    if ('status' in found) {
      const reason = found.status === 'Suspended' ? 'token_suspended' : 'token_revoked'
      return { error: DeviceUnknown(), reason, tenantId, endpointId, countsForLockout: true }
    }
    const { endpointTokenId } = found
    if (!(await updateVersion(endpointId, versionName)))
      return { error: DeviceUnknown(), reason: 'endpoint_gone', tenantId, endpointId }
    const extension = await extensionOf({ tenantId, applicationName, versionName }, topic.extension)
    return {
      tenant,
      generation,
      applicationName,
      versionName,
      endpointId,
      endpointTokenId,
      token,
      extension,
      revocations: revocationsBefore,
    }
  }

  async function extensionOf({ tenantId, applicationName, versionName }: Version, name: string) {
    const extension = deps.extensions().get(name)
    if (!extension) return undefined
    const allowed = await readAllowedExtensions({ tenantId, applicationName, versionName })
    return allowed && !allowed.includes(name) ? undefined : extension
  }

  return Object.assign(((topic, by) => runLimited(() => identify(topic, by))) as Identify, {
    isCurrent: (identified: Identified) =>
      identified.revocations === revocations && identified.generation === identified.tenant.generation,
    extensionOf,
  })
}

/**
 * Describes an authentication method that the tenant requires on this transport and that the client has not used. Returns undefined if no
 * method is missing.
 */
export function missingMethod(
  { required, tenantId }: Tenant,
  { transport, authentication }: { transport: Transport; authentication: Authentication | undefined },
): string | undefined {
  const methods = authentication?.tenantId === tenantId ? authentication.methods : []
  const missing = required[transport].find((method) => !methods.includes(method))
  return missing && `${tenantId} requires ${missing} authentication over ${transport}`
}
