/** The operations on VPN clients. */
import { isIP } from 'node:net'
import type { Identity } from '../../../identity/contract.ts'
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds, onResource, onTenant, visibleResources } from '../../../kernel/permissions.ts'
import { endpointResource, type Register } from '../../register/contract.ts'
import { type ClientType, offsets, subnetOf } from '../addresses.ts'
import { NoVpnAddress, NoVpnClient, NoVpnProfile, VpnClientRevoked } from '../errors.ts'
import { profileText } from '../profile.ts'
import type { VpnClient } from '../schemas.ts'
import type { VpnSettings } from '../settings.ts'
import { sshKeyProblem } from '../ssh-key.ts'
import * as store from '../store/clients.ts'
import { findServerState, type ServerState } from '../store/server.ts'
import { findTenant } from '../store/tenants.ts'
import type { Authorities } from './authorities.ts'

export interface ClientInput {
  name: string
  type: ClientType
  protocol?: 'tcp' | 'udp'
  endpointId?: string
  description?: string
  username?: string
  sshKey?: string
}

export interface ListFilter {
  ids: string[] | undefined
  name: string | undefined
  endpointId: string | undefined
  state: string | undefined
  ipAddress: string | undefined
  page: number
  pageSize: number
}

export interface ClientOperations {
  create(ctx: Ctx, input: ClientInput): Promise<VpnClient>
  list(ctx: Ctx, filter: ListFilter): Promise<{ count: number; data: VpnClient[]; server: ServerState }>
  get(ctx: Ctx, id: string): Promise<VpnClient>
  /** Revokes an active client. If the client is already revoked, deletes its record. */
  delete(ctx: Ctx, id: string): Promise<void>
  /** Returns the profile and its file name. */
  profile(ctx: Ctx, id: string): Promise<{ filename: string; text: string }>
  setSshKey(ctx: Ctx, id: string, sshKey: string): Promise<void>
  setUsername(ctx: Ctx, id: string, username: string): Promise<void>
  setDescription(ctx: Ctx, id: string, description: string): Promise<void>
}

export interface ClientDeps {
  kit: Kit<VpnSettings>
  identity: Pick<Identity, 'grantCreator' | 'forgetResource'>
  register: Pick<Register, 'find'>
  authorities: Authorities
}

export const readScope = 'vpnclient:read'
export const createScope = 'vpnclient:create'
export const updateScope = 'vpnclient:update'
export const deleteScope = 'vpnclient:delete'
const allScopes = [createScope, readScope, updateScope, deleteScope]

const prefix = 'vpnclient-'
const resourceOf = (id: string) => `${prefix}${id}`

export function createClientOperations(deps: ClientDeps): ClientOperations {
  const setter =
    (field: string, changeOf: (value: string) => Change) =>
    (ctx: Ctx, id: string, value: string): Promise<void> =>
      update(deps, ctx, id, { field, changeOf: () => changeOf(value) })
  return {
    create: (ctx, input) => create(deps, ctx, input),
    list: (ctx, filter) => list(deps, ctx, filter),
    get: async (ctx, id) => viewOf(await requireClient(deps, ctx, id, readScope)),
    delete: (ctx, id) => remove(deps, ctx, id),
    profile: (ctx, id) => profile(deps, ctx, id),
    setSshKey: setter('sshKey', (sshKey) => ({ sshKey: checkedSshKey(sshKey) })),
    setUsername: setter('username', (username) => ({ username: username === '' ? null : username })),
    setDescription: setter('description', (description) => ({ description })),
  }
}

async function create(deps: ClientDeps, ctx: Ctx, input: ClientInput): Promise<VpnClient> {
  const { kit, register, authorities } = deps
  const { db, newId, secrets, now } = kit
  const { tenantId } = ctx
  if (input.sshKey !== undefined) checkedSshKey(input.sshKey)
  const endpoint = input.endpointId === undefined ? undefined : await requireEndpoint(register, ctx, input.endpointId)
  const authority = await authorities.ofTenant(tenantId)
  const id = newId()
  const { privateKey, ...issued } = await authorities.issue(authority, id)
  const client: store.NewClient = {
    ...{ id, tenantId, name: input.name, type: input.type, protocol: input.protocol ?? 'udp' },
    endpointId: endpoint?.endpointId ?? null,
    application: endpoint?.applicationName ?? null,
    description: input.description ?? '',
    username: input.username === undefined || input.username === '' ? null : input.username,
    sshKey: input.sshKey ?? null,
    ...issued,
    sealedKey: secrets.seal(privateKey),
    created: now(),
  }
  const address = await insert(deps, ctx, client)
  // The endpoint may have been unregistered before this client was stored, so that the event handler could not find the client.
  if (endpoint && !(await register.find(endpoint.endpointId))) {
    await db.tx((sql) => unlink(sql, { tenantId, ids: [id], at: now() }))
    throw unknownEndpoint(endpoint.endpointId)
  }
  return viewOf({ ...client, address, state: 'active', hasSshKey: client.sshKey !== null, lastConnected: null })
}

/** Inserts the client with an address. Grants its creator every scope on it, unless the creator already has these scopes on the tenant. */
async function insert({ kit: { db }, identity }: ClientDeps, ctx: Ctx, client: store.NewClient): Promise<string> {
  const { tenantId, type } = client
  const { first, last } = offsets[type]
  // `next_device` counts from the start of the range, `next_admin` from the start of the part for administrators.
  const range = { start: type === 'admin' ? first - 1 : 0, last }
  const isPermitted = allScopes.every((scope) => holds(ctx.caller, scope, onTenant(tenantId)))
  // If the creator needs no grant and an address was never assigned, one statement and therefore one round trip is enough.
  const newAddress = isPermitted ? await store.insertWithNewAddress(db.sql, client, range) : undefined
  if (newAddress !== undefined) return newAddress
  return await db.tx(async (sql) => {
    if (!isPermitted) await identity.grantCreator(sql, ctx, resourceOf(client.id))
    const address =
      (await store.insertWithNewAddress(sql, client, range)) ?? (await store.insertWithFreeAddress(sql, client))
    if (address === undefined) throw await noAddress(sql, tenantId, type)
    return address
  })
}

async function noAddress(sql: Parameters<typeof findTenant>[0], tenantId: string, type: ClientType) {
  const tenant = await findTenant(sql, tenantId)
  return NoVpnAddress({ type, subnet: tenant ? subnetOf(type, tenant.rangeStart) : 'its range' })
}

/** Revokes clients and removes their links to an endpoint that was unregistered. */
export async function unlink(
  sql: Parameters<typeof store.revokeClients>[0],
  clients: { tenantId: string; ids: string[]; at: Date },
) {
  await store.revokeClients(sql, clients)
  await store.clearEndpoint(sql, clients.tenantId, clients.ids)
}

const unknownEndpoint = (endpointId: string) => invalidField('endpointId', `there is no endpoint ${endpointId}`)

async function requireEndpoint(register: Pick<Register, 'find'>, ctx: Ctx, endpointId: string) {
  const endpoint = await register.find(endpointId)
  if (!endpoint || endpoint.tenantId !== ctx.tenantId) throw unknownEndpoint(endpointId)
  if (!holds(ctx.caller, 'endpoint:read', endpointResource(endpoint))) throw unknownEndpoint(endpointId)
  return endpoint
}

async function list({ kit: { db } }: ClientDeps, ctx: Ctx, { page, pageSize, ipAddress, ...filter }: ListFilter) {
  const { tenantId } = ctx
  if (ipAddress !== undefined && isIP(ipAddress) === 0) throw invalidField('ipAddress', 'expected an IP address')
  const visible = visibleResources(ctx.caller, readScope, tenantId, prefix)
  const [{ count, rows }, server] = await Promise.all([
    store.findClients(
      db.sql,
      { ...filter, tenantId, address: ipAddress, visibleIds: visible === 'all' ? undefined : visible },
      { offset: (page - 1) * pageSize, limit: pageSize },
    ),
    findServerState(db.sql),
  ])
  return { count, data: rows.map(viewOf), server }
}

/** Returns the client. Throws 404 if there is no client that the caller may read, and 403 if the caller may read it but lacks `scope`. */
async function requireClient({ kit }: ClientDeps, ctx: Ctx, id: string, scope: string): Promise<store.ClientRow> {
  const client = await store.findClient(kit.db.sql, ctx.tenantId, id)
  const missing = () => NoVpnClient({ vpnclientID: id })
  if (!client) throw missing()
  authorizeOrNotFound(ctx, { read: readScope, scope }, onResource(client.tenantId, resourceOf(id)), missing)
  return client
}

async function remove(deps: ClientDeps, ctx: Ctx, id: string) {
  const { kit, identity } = deps
  const { state } = await requireClient(deps, ctx, id, deleteScope)
  const { tenantId } = ctx
  await kit.db.tx(async (sql) => {
    if (state === 'active') await store.revokeClients(sql, { tenantId, ids: [id], at: kit.now() })
    else if (await store.deleteRevokedClient(sql, tenantId, id))
      await identity.forgetResource(sql, tenantId, resourceOf(id))
  })
}

async function profile(deps: ClientDeps, ctx: Ctx, id: string) {
  const { kit, authorities } = deps
  const { secrets, settings } = kit
  await requireClient(deps, ctx, id, readScope)
  const row = await store.findProfile(kit.db.sql, ctx.tenantId, id)
  if (!row) throw NoVpnClient({ vpnclientID: id })
  if (row.state === 'revoked') throw NoVpnProfile({ vpnclientID: id })
  const { root, tlsCrypt } = await authorities.installation()
  const text = profileText({
    host: settings.host ?? hostOf(kit.baseUrl()),
    port: settings.port,
    protocol: row.protocol,
    root: root.certificate,
    authority: row.authority,
    certificate: row.certificate,
    privateKey: secrets.open(row.sealedKey),
    tlsCrypt,
  })
  return { filename: `${row.name}.ovpn`, text }
}

/** Returns the host of a URL. The brackets around an IPv6 address are removed. */
const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '')

type Change = Parameters<typeof store.updateClient>[2]

async function update(
  deps: ClientDeps,
  ctx: Ctx,
  id: string,
  { field, changeOf }: { field: string; changeOf: () => Change },
) {
  await requireClient(deps, ctx, id, updateScope)
  const isChanged = await store.updateClient(deps.kit.db.sql, { tenantId: ctx.tenantId, id }, changeOf())
  if (!isChanged) throw VpnClientRevoked({ field })
}

function checkedSshKey(text: string): string {
  const problem = sshKeyProblem(text)
  if (problem) throw invalidField('sshKey', problem)
  return text
}

const viewOf = (row: store.ClientRow): VpnClient => ({
  id: row.id,
  name: row.name,
  ...(row.endpointId !== null && { endpointId: row.endpointId }),
  ...(row.application !== null && { application: row.application }),
  description: row.description,
  state: row.state,
  type: row.type,
  ipAddress: row.address,
  subnet: subnetOf(row.type, row.address),
  ...(row.username !== null && { username: row.username }),
  sshKey: row.hasSshKey,
  protocol: row.protocol,
  created: row.created,
  ...(row.lastConnected && { lastConnected: row.lastConnected }),
})
