/** Registers batches of endpoints. A batch is a bulk task (kernel/bulk) whose items are the endpoints. */
import type { Bulk } from '../../../kernel/bulk/bulk.ts'
import { creatorOf, defineBulk, type Outcome, type Task } from '../../../kernel/bulk/types.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { authorizeOrNotFound } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { Secrets } from '../../../kernel/secrets.ts'
import type { Applications } from '../../applications/contract.ts'
import { create, needsGrant, onApplication, requireVersionForRegistration } from '../access.ts'
import { EndpointIdTaken, EndpointTokenTaken, NoBatch, NoVersionHere } from '../errors.ts'
import { type ConnectivityKeysOf, reservedKeys } from '../metadata/connectivity-keys.ts'
import { checkMetadata, type IsReserved, type Metadata } from '../metadata/metadata.ts'
import type { CreationOutcome, NewEndpoint } from './create-endpoints.ts'
import type { RegistrationOperations } from './registration.ts'

export interface BatchRequest {
  appVersionName: string
  endpoints: { endpointId?: string; endpointToken?: string; metadata?: Metadata }[]
}

export interface BatchStatus {
  createdCount: number
  failedCount: number
  created: { endpointToken: string; endpointId: string; metadata?: Metadata }[]
  failed: { endpointToken?: string; endpointId?: string; metadata?: Metadata; status: 'FAILED'; statusReason: string }[]
}

export interface BatchOperations {
  /** Starts a batch and returns its id. Callers use the id to read the status. */
  start(ctx: Ctx, request: BatchRequest): Promise<string>
  status(ctx: Ctx, task: { taskId: string; appName?: string | undefined }): Promise<BatchStatus>
}

interface Batch {
  applicationName: string
  versionName: string
  /** The caller that gets every scope on the endpoints; null if the caller already has these scopes on the application. */
  creator: { subject: Ctx['caller']['subject']; roles: string[] } | null
}

/** An endpoint to register. Its token is a secret and therefore sealed. */
interface BatchItem {
  endpointId?: string
  endpointToken?: string
  metadata?: Metadata
}

interface Created {
  endpointId: string
  /** The sealed token in tasks of earlier versions. Newer tasks use `tokens`. */
  endpointToken?: string
  /**
   * The tokens of all endpoints that one page registered, as one sealed list in the result of the first of them. Sealing each token
   * separately took 20 % of the main thread.
   */
  tokens?: string
}

const endpointsMax = 1000

export const RegisterBatch = defineBulk<Batch, BatchItem, Created>('register.batch', {
  title: 'Register endpoints',
  pageSize: 500,
  keepItems: true,
  // While the node prepares a page of one task, the database writes pages of other tasks.
  parallel: 3,
})

interface Deps {
  applications: Applications
  registration: RegistrationOperations
  connectivityKeys: ConnectivityKeysOf
}

export function createBatchOperations(kit: Kit, deps: Deps): BatchOperations {
  const { db, bulk, secrets } = kit
  bulk.handle(RegisterBatch, {
    prepare: async ({ tenantId, data }) => reservedKeys(await deps.connectivityKeys({ tenantId, ...data })),
    page: (sql, task, items, isReserved) => registerPage(kit, deps, sql, task, items, isReserved),
  })

  return {
    async start(ctx, { appVersionName: name, endpoints }) {
      const notFound = () => NoVersionHere({ name })
      const version = requireVersionForRegistration(ctx, await deps.applications.findVersion(name), [create], notFound)
      const { tenantId, applicationName, versionName } = version
      const { subject, roles } = ctx.caller
      const creator = needsGrant(ctx, version) ? { subject, roles: [...roles] } : null
      const task = { tenantId, createdBy: creatorOf(ctx.caller), data: { applicationName, versionName, creator } }
      const items = endpoints.map(({ endpointToken, ...endpoint }) => ({
        ...endpoint,
        ...(endpointToken !== undefined && { endpointToken: secrets.seal(endpointToken) }),
      }))
      return await db.tx((sql) => bulk.start(sql, RegisterBatch, task, items))
    },

    async status(ctx, { taskId, appName }) {
      const notFound = () => NoBatch({ taskId })
      const task = await bulk.find(db.sql, RegisterBatch, taskId)
      const { applicationName } = task?.data ?? {}
      if (!task || task.tenantId !== ctx.tenantId || applicationName === undefined) throw notFound()
      if (appName !== undefined && appName !== applicationName) throw notFound()
      const application = onApplication(task.tenantId, applicationName)
      authorizeOrNotFound(ctx, { read: 'application:read', scope: create }, application, notFound)
      return await readStatus(bulk, secrets, db.sql, taskId)
    },
  }
}

/** Registers a page of items. A problem with one item fails only that item. */
async function registerPage(
  kit: Kit,
  { registration }: Deps,
  sql: Sql,
  { tenantId, data }: Task<Batch>,
  items: BatchItem[],
  isReserved: IsReserved,
): Promise<Outcome<Created>[]> {
  const { applicationName, versionName, creator: grantee } = data
  const into = { tenantId, applicationName, versionName }
  const outcomes: Outcome<Created>[] = []
  const accepted: (NewEndpoint & { index: number })[] = []
  const idsSoFar = new Set<string>()
  for (const [index, { endpointId = kit.newId(), endpointToken, metadata = {} }] of items.entries()) {
    const problem = idsSoFar.has(endpointId)
      ? EndpointIdTaken({ endpointId }).message
      : metadataProblem(metadata, isReserved)
    idsSoFar.add(endpointId)
    const token = endpointToken === undefined ? undefined : kit.secrets.open(endpointToken)
    if (problem === undefined) accepted.push({ index, endpointId, metadata, token })
    else outcomes[index] = { failed: problem }
  }
  const system = kit.system(tenantId)
  const creator = grantee ? { ...system, caller: { tenantId, permissions: [], ...grantee } } : undefined
  const creations = await registration.createEndpoints(sql, into, accepted, creator)
  for (const [position, { index, endpointId }] of accepted.entries())
    outcomes[index] = outcomeOf({ endpointId, applicationName }, creations[position]!)
  const first = outcomes.find(({ result }) => result)?.result
  if (first) first.tokens = kit.secrets.seal(JSON.stringify(creations.flatMap(tokenOf)))
  return outcomes
}

const tokenOf = (admitted: CreationOutcome): string[] => (typeof admitted === 'object' ? [admitted.token] : [])

function outcomeOf(
  { endpointId, applicationName }: { endpointId: string; applicationName: string },
  admitted: CreationOutcome,
): Outcome<Created> {
  if (admitted === 'id taken') return { failed: EndpointIdTaken({ endpointId }).message }
  if (admitted === 'token taken') return { failed: EndpointTokenTaken({ applicationName }).message }
  return { result: { endpointId } }
}

/**
 * Returns a function that reads the token from a result. It must be called for all results in order, because the result of the first
 * endpoint that a page registered contains all tokens of the page.
 */
function createTokenReader(secrets: Secrets) {
  let tokens: string[] = []
  return ({ endpointToken, tokens: sealed }: Created): string => {
    if (endpointToken !== undefined) return secrets.open(endpointToken)
    if (sealed !== undefined) tokens = JSON.parse(secrets.open(sealed)).reverse()
    return tokens.pop()!
  }
}

function metadataProblem(metadata: Metadata, isReserved: IsReserved): string | undefined {
  try {
    checkMetadata(metadata, isReserved)
    return undefined
  } catch (error) {
    if (error instanceof PlatformError) return error.message
    throw error
  }
}

async function readStatus(bulk: Bulk, secrets: Secrets, sql: Sql, taskId: string): Promise<BatchStatus> {
  const created: BatchStatus['created'] = []
  const failed: BatchStatus['failed'] = []
  const readToken = createTokenReader(secrets)
  for (const { item, result, failed: reason } of await bulk.items(sql, RegisterBatch, {
    taskId,
    limit: endpointsMax,
  })) {
    const { endpointId, endpointToken, metadata } = item
    const common = metadata ? { metadata } : {}
    if (result) created.push({ endpointToken: readToken(result), endpointId: result.endpointId, ...common })
    else if (reason !== undefined)
      failed.push({
        ...(endpointToken !== undefined && { endpointToken: secrets.open(endpointToken) }),
        ...(endpointId !== undefined && { endpointId }),
        ...common,
        status: 'FAILED',
        statusReason: reason,
      })
  }
  return { createdCount: created.length, failedCount: failed.length, created, failed }
}
