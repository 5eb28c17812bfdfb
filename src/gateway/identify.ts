/** Who speaks: from the version and the token of a topic, and what the client has shown, to an endpoint. */
import type { Bus } from '../kernel/bus.ts'
import { createCache } from '../kernel/cache.ts'
import { createSemaphore } from '../kernel/concurrency-limit.ts'
import type { Extension } from '../kernel/device.ts'
import type { PlatformError } from '../kernel/errors.ts'
import { gather } from '../kernel/gather.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { EndpointRef, Register } from '../services/register/contract.ts'
import { EndpointUnregistered, VersionUpdated } from '../services/register/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import { gatewayInstance } from './configuration.ts'
import { DeviceUnknown, VersionUnknown } from './errors.ts'
import type { Shown } from './peers.ts'
import type { Tenant, Tenants, Transport } from './tenants.ts'
import type { Topic } from './topic.ts'

export interface Identified {
  tenant: Tenant
  /** Of the tenant, when all this was true. */
  generation: number
  applicationName: string
  versionName: string
  endpointId: string
  endpointTokenId: string
  token: string
  /** Undefined: there is none, or this version may not use it. */
  extension: Extension | undefined
  /** What had been heard by then. */
  words: number
}

/** What the peer hears, and what its tenant's administrators can read. */
export interface Refused {
  error: PlatformError
  /** `token_unknown`. */
  reason: string
  detail?: string
  tenantId?: string
  /** The connection goes too. */
  close?: boolean
  /** Somebody might be trying out tokens. */
  guess?: boolean
}

export const isRefused = (found: Identified | Refused): found is Refused => 'error' in found

export interface Identify {
  (topic: Topic, by: { transport: Transport; shown: Shown | undefined }): Promise<Identified | Refused>
  /**
   * Whether nothing was heard since that could make it wrong. Asked in the moment in which it is acted on: who acted on an old
   * word would not hear the new one again.
   */
  isCurrent(who: Identified): boolean
  /** Undefined: there is none, or this version may not use it. */
  extensionOf(who: Version, name: string): Promise<Extension | undefined>
}

interface Version {
  tenantId: string
  applicationName: string
  versionName: string
}

/** Versions of endpoints that come over HTTP or have just connected. */
const versionsMax = 50_000
/**
 * Endpoints that come back together are looked up together: one by one they would take the database from everybody else. Nor
 * do more than these come through at a time: all that then follows for each happens before anybody else's turn.
 */
const atOnce = 128
const everyMs = 3

export function createIdentify(deps: {
  bus: Bus
  tokens: Pick<Tokens, 'validate'>
  register: Pick<Register, 'findAll' | 'setVersion'>
  applications: Pick<Applications, 'findVersion' | 'follow'>
  tenants: Tenants
  extensions: () => ReadonlyMap<string, Extension>
}): Identify {
  const { bus, tokens, register, applications, tenants } = deps
  const allowedOf = applications.follow(
    gatewayInstance,
    (config): readonly string[] | undefined => config['allowed-extension-instances'],
  )
  const versions = createCache<string>({ max: versionsMax, bus })
  /** Grows with every word that could make an answer wrong that is still on its way. */
  let words = 0

  bus.hear(TokenStatusChanged, ({ to }) => {
    if (to !== 'Active') words++
  })
  bus.hear(TokensDeleted, () => void words++)
  bus.hear(EndpointUnregistered, ({ endpointIds }) => {
    words++
    for (const endpointId of endpointIds) versions.drop(endpointId)
  })
  // Not a word on who may speak: whoever is bound follows by itself (bindings.ts).
  versions.dropOn(VersionUpdated, ({ endpointId }) => endpointId)
  bus.onGap(() => void words++)

  const find = gather<string, EndpointRef>(
    async (endpointIds) => {
      const found = await register.findAll(endpointIds)
      return endpointIds.map((endpointId) => found.get(endpointId))
    },
    atOnce,
    everyMs,
  )
  const inTurn = createSemaphore(atOnce)

  /** False: the endpoint is gone. */
  async function follow(endpointId: string, versionName: string): Promise<boolean> {
    if (versions.get(endpointId) === versionName) return true
    const known = await find(endpointId)
    if (!known) return false
    if (known.versionName !== versionName && !(await register.setVersion(endpointId, versionName))) return false
    versions.set(endpointId, versionName)
    return true
  }

  async function identify(topic: Topic, by: Parameters<Identify>[1]): Promise<Identified | Refused> {
    const before = words
    const { versionName, token } = topic
    const version = await applications.findVersion(versionName)
    if (!version) return { error: VersionUnknown({ versionName }), reason: 'version_unknown', guess: true }
    const { tenantId, applicationName } = version
    const tenant = await tenants.get(tenantId)
    if (!tenant?.available) return { error: DeviceUnknown(), reason: 'tenant_not_available', tenantId }
    const { generation } = tenant
    const detail = missingMethod(tenant, by)
    if (detail) return { error: DeviceUnknown(), reason: 'authentication_required', detail, tenantId, close: true }
    if (by.shown && by.shown.tenantId !== tenantId)
      return { error: DeviceUnknown(), reason: 'other_tenant', tenantId: by.shown.tenantId, guess: true }
    const valid = await tokens.validate({ token, versionName })
    if (!valid) return { error: DeviceUnknown(), reason: 'token_unknown', tenantId, guess: true }
    const { endpointId, endpointTokenId } = valid
    if (!(await follow(endpointId, versionName))) return { error: DeviceUnknown(), reason: 'endpoint_gone', tenantId }
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
      words: before,
    }
  }

  async function extensionOf({ tenantId, applicationName, versionName }: Version, name: string) {
    const extension = deps.extensions().get(name)
    if (!extension) return undefined
    const allowed = await allowedOf({ tenantId, applicationName, versionName })
    return allowed && !allowed.includes(name) ? undefined : extension
  }

  return Object.assign(((topic, by) => inTurn(() => identify(topic, by))) as Identify, {
    isCurrent: (who: Identified) => who.words === words && who.generation === who.tenant.generation,
    extensionOf,
  })
}

/** What the tenant wants to see on this transport and the client has not shown. */
export function missingMethod(
  { required, tenantId }: Tenant,
  { transport, shown }: { transport: Transport; shown: Shown | undefined },
): string | undefined {
  const methods = shown?.tenantId === tenantId ? shown.methods : []
  const missing = required[transport].find((method) => !methods.includes(method))
  return missing && `${tenantId} requires ${missing} authentication over ${transport}`
}
