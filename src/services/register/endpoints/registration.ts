import type { Identity } from '../../../identity/contract.ts'
import { setAuditCreated } from '../../../kernel/audit/current-entry.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { type CommitCompanion, currentCompanion, withCompanions } from '../../../kernel/db/commit-companion.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import type { Tokens } from '../../tokens/contract.ts'
import { create, needsGrant, requireVersionForRegistration, update } from '../access.ts'
import type { Register, Relation } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import { EndpointIdTaken, EndpointTokenTaken } from '../errors.ts'
import { type ConnectivityKeysOf, reservedKeys } from '../metadata/connectivity-keys.ts'
import { checkMetadata, type Metadata } from '../metadata/metadata.ts'
import type { LinkOutcome, RelationOperations } from '../relations/service.ts'
import { lockRelations } from '../relations/store.ts'
import {
  type CreateEndpoints,
  type CreationOutcome,
  createEndpointsWith,
  type NewEndpoint,
} from './create-endpoints.ts'
import { createRegisterAll, relationOf } from './registration-for-services.ts'
import { createSharedTransactions } from './shared-transactions.ts'

/** A relation between the new endpoint and an existing endpoint. `from` or `to` is the existing endpoint. */
export type RelationRequest = { type: 'contains'; from: string } | { type: 'contains'; to: string }

export interface Registration {
  appVersionName: string
  endpointId?: string | undefined
  endpointToken?: string | undefined
  metadata?: Metadata | undefined
  relations?: RelationRequest[] | undefined
  resourceGroupIds?: string[] | undefined
}

export interface Registered {
  endpointId: string
  token: string
  status: 'Inactive'
  /** Outcome of the relations; absent if all relations were created. */
  relations?: LinkOutcome
}

export interface RegistrationOperations {
  register(ctx: Ctx, registration: Registration): Promise<Registered>
  createEndpoints: CreateEndpoints
  registerAll: Register['registerAll']
}

export function createRegistrationOperations(
  kit: Kit,
  deps: {
    identity: Identity
    applications: Applications
    tokens: Tokens
    relations: RelationOperations
    changes: Changes
    connectivityKeys: ConnectivityKeysOf
  },
): RegistrationOperations {
  const { db, bus, now, newId } = kit
  const { identity, applications, tokens, relations, changes, connectivityKeys } = deps

  const createEndpoints = createEndpointsWith({ now, bus, identity, tokens, changes })

  /**
   * Throws if the version no longer exists: it may have been deleted while the transaction waited for a connection. Usually the cache
   * answers this check.
   */
  const requireStill = async ({ versionName }: ApplicationVersionRef) => {
    if (!(await applications.findVersion(versionName))) throw unknownVersion(versionName)
  }

  const createAlone = ({ version, endpoint }: SingleCreation, creator: Ctx): Promise<CreationOutcome> =>
    db.tx(async (sql) => {
      const [outcome] = await createEndpoints(sql, version, [endpoint], creator)
      await requireStill(version)
      return outcome!
    })

  /** Creates endpoints of one application in a transaction, together with the audit records of their requests. */
  const createRecorded = (creations: RecordedCreation[]): Promise<CreationOutcome[]> => {
    const companions: CommitCompanion[] = []
    return withCompanions(companions, () =>
      db.tx(async (sql) => {
        const [{ version }] = creations as [RecordedCreation]
        const endpoints = creations.map(({ version: { versionName }, endpoint }) => ({ ...endpoint, versionName }))
        const outcomes = await createEndpoints(sql, version, endpoints)
        for (const { version } of creations) await requireStill(version)
        companions.splice(0, companions.length, ...recordedCompanions(creations, outcomes))
        return outcomes
      }),
    )
  }

  const createShared = createSharedTransactions<RecordedCreation, CreationOutcome>({
    keyOf: ({ version: { tenantId, applicationName } }) => `${applicationName}\n${tenantId}`,
    idOf: ({ endpoint }) => endpoint.endpointId,
    alone: async (creation) => (await createRecorded([creation]))[0]!,
    together: createRecorded,
  })

  const registerLinked = (ctx: Ctx, { version, endpoint, links, related }: LinkedCreation): Promise<Registered> =>
    db.tx(async (sql) => {
      await lockRelations(sql, version.tenantId)
      await relations.lockLinkedEndpoints(sql, ctx, version.tenantId, related)
      const [outcome] = await createEndpoints(sql, version, [endpoint], needsGrant(ctx, version) ? ctx : undefined)
      await requireStill(version)
      const registered = registeredOf(version, endpoint, outcome!)
      const linkOutcome = await relations.connect(sql, version.tenantId, links)
      return { ...registered, ...(linkOutcome.failed.length > 0 && { relations: linkOutcome }) }
    })

  return {
    createEndpoints,

    registerAll: createRegisterAll({ applications, relations, connectivityKeys, createEndpoints }),

    async register(ctx, registration) {
      const {
        appVersionName: name,
        endpointId = newId(),
        metadata = {},
        relations: relationRequests = [],
      } = registration
      checkMetadata(metadata, reservedKeys())
      const version = requireVersionForRegistration(ctx, await applications.findVersion(name), [create, update], () =>
        unknownVersion(name),
      )
      const configuredKeys = await connectivityKeys(version)
      if (configuredKeys) checkMetadata(metadata, reservedKeys(configuredKeys))
      const links = relationRequests.map((request): Relation => relationOf(request, endpointId))
      const related = [...new Set(links.flatMap(({ from, to }) => [from, to]))].filter((id) => id !== endpointId)

      const { endpointToken: token, resourceGroupIds } = registration
      const endpoint = { endpointId, metadata, token, resourceGroupIds }
      if (links.length > 0) {
        const request = { version, endpoint, links, related }
        return await relations.serialize(version.tenantId, () => registerLinked(ctx, request))
      }
      if (needsGrant(ctx, version))
        return registeredOf(version, endpoint, await createAlone({ version, endpoint }, ctx))
      const companion = currentCompanion()
      return registeredOf(version, endpoint, await createShared({ version, endpoint, companion }))
    },
  }
}

/** An endpoint to create, in a transaction of its own or in a shared transaction. */
interface SingleCreation {
  version: ApplicationVersionRef
  endpoint: NewEndpoint
}

/** A creation with the audit record of its request. */
interface RecordedCreation extends SingleCreation {
  companion: CommitCompanion | undefined
}

/** Returns the audit records to commit with a shared transaction. These are the records of the endpoints that the transaction creates. */
function recordedCompanions(creations: RecordedCreation[], outcomes: CreationOutcome[]): CommitCompanion[] {
  return creations.flatMap(({ companion, endpoint }, index) => {
    if (!companion || typeof outcomes[index] !== 'object') return []
    setAuditCreated(companion, endpoint.endpointId)
    return companion
  })
}

interface LinkedCreation extends SingleCreation {
  links: Relation[]
  /** The existing endpoints of the relations. */
  related: string[]
}

const unknownVersion = (name: string) => invalidField('appVersion.name', `there is no application version ${name}`)

function registeredOf(
  { applicationName }: ApplicationVersionRef,
  { endpointId }: NewEndpoint,
  outcome: CreationOutcome,
): Registered {
  if (outcome === 'token taken') throw EndpointTokenTaken({ applicationName })
  if (outcome === 'id taken') throw EndpointIdTaken({ endpointId })
  return { endpointId, ...outcome }
}
