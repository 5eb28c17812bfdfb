/**
 * What waits for a client is delivered only while its endpoint may be spoken to: asked when it is about to be sent, not removed
 * when a right ends, so that it holds after a crash and whichever process the word came from.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Applications } from '../services/applications/contract.ts'
import type { Register } from '../services/register/contract.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import type { Tokens } from '../services/tokens/contract.ts'
import { TokenStatusChanged, TokensDeleted } from '../services/tokens/events.ts'
import type { Clients } from './clients.ts'
import { missingMethod } from './identify.ts'
import type { Host, Sessions } from './mqtt/host.ts'
import type { Shown } from './peers.ts'
import type { Tenants, Transport } from './tenants.ts'
import { readTopic } from './topic.ts'

export function createOwed(
  { bus }: Pick<Kit, 'bus'>,
  deps: {
    applications: Pick<Applications, 'findVersion'>
    register: Pick<Register, 'find'>
    tokens: Pick<Tokens, 'validate'>
    tenants: Tenants
    clients: Pick<Clients, 'shownBy'>
    sessions: () => Sessions | undefined
  },
): NonNullable<Host['mayDeliver']> {
  const { applications, register, tokens, tenants, clients } = deps
  const recheck = () => deps.sessions()?.recheck()

  bus.hear(TokenStatusChanged, ({ to }) => {
    if (to === 'Suspended' || to === 'Revoked') recheck()
  })
  bus.hear(TokensDeleted, recheck)
  bus.hear(EndpointUnregistered, recheck)
  // After a gap too.
  tenants.onChange(recheck)

  /** `about`: the id of the token. Its text may have been given to another endpoint since. */
  async function holds(about: string, text: string, by: { transport: Transport; shown: Shown | undefined }) {
    const topic = readTopic(text)
    if (typeof topic === 'string') return false
    const { versionName, token } = topic
    const version = await applications.findVersion(versionName)
    const tenant = version && (await tenants.get(version.tenantId))
    if (!tenant?.available || missingMethod(tenant, by)) return false
    if (by.shown && by.shown.tenantId !== tenant.tenantId) return false
    const valid = await tokens.validate({ token, versionName })
    return valid?.endpointTokenId === about && (await register.find(valid.endpointId)) !== undefined
  }

  return async (client, messages) => {
    const by = { transport: client.transport, shown: clients.shownBy(client) }
    const known = new Map<string, Promise<boolean>>()
    return Promise.all(
      messages.map(({ about, topic }) => {
        // A word to the client itself: that it was refused.
        if (about === undefined) return true
        const version = topic.split('/', 2).join('/')
        const key = `${version} ${about}`
        const asked = known.get(key) ?? holds(about, topic, by)
        known.set(key, asked)
        return asked
      }),
    )
  }
}
