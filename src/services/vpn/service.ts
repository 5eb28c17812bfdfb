/** Assembles the service. server/ contains the server that the command `waypost vpn` runs. */
import type { Identity } from '../../identity/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createPkiWorker } from '../../kernel/pki/worker.ts'
import type { Register } from '../register/contract.ts'
import type { Vpn } from './contract.ts'
import { createAuthorities } from './service/authorities.ts'
import { type ClientOperations, createClientOperations, unlink } from './service/clients.ts'
import type { VpnSettings } from './settings.ts'
import { findClientsOfEndpoints } from './store/clients.ts'
import { setAvailable } from './store/server.ts'
import { retireTenant } from './store/tenants.ts'

export interface VpnService {
  clients: ClientOperations
  /**
   * Revokes the clients of endpoints that were unregistered at `until`. If an endpoint is registered again, its clients that were created
   * after `until` stay.
   */
  forgetEndpoints(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  /** Allows the clients of a tenant to connect, or ends their connections. */
  setAvailable(sql: Sql, tenantId: string, available: boolean): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  stop(): Promise<void>
  api: Vpn
}

export function createVpn(
  kit: Kit<VpnSettings>,
  { identity, register }: { identity: Identity; register: Register },
): VpnService {
  const worker = createPkiWorker()
  const authorities = createAuthorities(kit, worker)
  return {
    clients: createClientOperations({ kit, identity, register, authorities }),
    async forgetEndpoints(sql, { tenantId, ...endpoints }) {
      const ids = await findClientsOfEndpoints(sql, register.relation, { tenantId, ...endpoints })
      if (ids.length > 0) await unlink(sql, { tenantId, ids, at: kit.now() })
    },
    setAvailable,
    forgetTenant: (sql, tenantId) => retireTenant(sql, tenantId, kit.now()),
    stop: worker.close,
    api: {},
  }
}
