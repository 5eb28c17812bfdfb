/** Ends the waits of callers that lose their permission while they wait, because their token, role, grant or tenant has changed. */
import { AccessChanged, RealmStatusChanged, TokensDenied } from '../../../identity/events.ts'
import type { Bus } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { PlatformError } from '../../../kernel/errors.ts'

export interface WaitingCaller {
  /** Throws if the caller may no longer get the result. */
  check(): Promise<void>
  /** Ends the wait with the error. */
  end(error: PlatformError): void
}

export interface WaitingCallers {
  add(ctx: Ctx, caller: WaitingCaller): () => void
}

export function createWaitingCallers(bus: Pick<Bus, 'subscribe' | 'onReset'>): WaitingCallers {
  const byTenant = new Map<string, Set<WaitingCaller>>()

  const recheck = (callers: Iterable<WaitingCaller>) => {
    for (const caller of callers)
      caller.check().catch((error) => {
        // If the database fails, the wait continues. The permission is checked again before the response.
        if (error instanceof PlatformError && error.status < 500) caller.end(error)
      })
  }
  const recheckTenant = ({ tenantId }: { tenantId: string }) => recheck(byTenant.get(tenantId) ?? [])
  bus.subscribe(AccessChanged, recheckTenant)
  bus.subscribe(TokensDenied, recheckTenant)
  bus.subscribe(RealmStatusChanged, recheckTenant)
  bus.onReset(() => {
    for (const callers of byTenant.values()) recheck(callers)
  })

  return {
    add({ caller: { tenantId } }, caller) {
      const callers = byTenant.get(tenantId) ?? new Set()
      byTenant.set(tenantId, callers.add(caller))
      return () => {
        callers.delete(caller)
        if (callers.size === 0 && byTenant.get(tenantId) === callers) byTenant.delete(tenantId)
      }
    },
  }
}
