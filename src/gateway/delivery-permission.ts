/**
 * Decides whether a queued message may still be delivered. The permission is checked before each delivery. Deleting messages when a
 * permission ends would not be enough, because a node may crash or miss the event.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import type { Clients } from './clients.ts'
import type { Authentication } from './connection-state.ts'
import { missingMethod } from './identify.ts'
import type { Host, Sessions } from './mqtt/host.ts'
import type { Tenants, Transport } from './tenants.ts'
import { readTopic } from './topic.ts'

export function createDeliveryPermission(
  { bus }: Pick<Kit, 'bus'>,
  deps: {
    applications: Pick<Applications, 'findVersion'>
    register: Pick<Register, 'find'>
    tokens: Pick<Tokens, 'validate'>
    tenants: Tenants
    clients: Pick<Clients, 'authenticationOf'>
    sessions: () => Sessions | undefined
  },
): NonNullable<Host['mayDeliver']> {
  const { applications, register, tokens, tenants, clients } = deps
  const recheck = () => deps.sessions()?.recheck()

  bus.subscribe(TokenStatusChanged, ({ to }) => {
    if (to === 'Suspended' || to === 'Revoked') recheck()
  })
  bus.subscribe(TokensDeleted, recheck)
  bus.subscribe(EndpointUnregistered, recheck)
  // A reset calls this listener too.
  tenants.onChange(recheck)

  /** Checks the token by its id (`recipientId`), because the text of a deleted token may now belong to another endpoint. */
  async function isDeliverable(
    recipientId: string,
    text: string,
    by: { transport: Transport; authentication: Authentication | undefined },
  ) {
    const topic = readTopic(text)
    if (typeof topic === 'string') return false
    const { versionName, token } = topic
    const version = await applications.findVersion(versionName)
    const tenant = version && (await tenants.get(version.tenantId))
    if (!tenant?.available || missingMethod(tenant, by)) return false
    if (by.authentication && by.authentication.tenantId !== tenant.tenantId) return false
    const valid = await tokens.validate({ token, versionName })
    return valid?.endpointTokenId === recipientId && (await register.find(valid.endpointId)) !== undefined
  }

  return async (client, messages) => {
    const by = { transport: client.transport, authentication: clients.authenticationOf(client) }
    const results = new Map<string, Promise<boolean>>()
    return Promise.all(
      messages.map(({ recipientId, topic }) => {
        // Without a recipient, the message is an error about a message that was not identified. It belongs to the client, not to an
        // endpoint.
        if (recipientId === undefined) return true
        const version = topic.split('/', 2).join('/')
        const key = `${version} ${recipientId}`
        const result = results.get(key) ?? isDeliverable(recipientId, topic, by)
        results.set(key, result)
        return result
      }),
    )
  }
}
