/** Stores in the tenant which objects `apply` has created, so that `--prune` deletes nothing else, on whichever machine it runs. */
import type { Client } from '../../../sdk/src/index.ts'

interface Stored {
  configId?: string
  owned: string[]
}

export interface Ownership {
  owned: string[]
  write(owned: string[]): Promise<void>
}

export async function readOwnership(client: Client, tenantId: string, set: string): Promise<Ownership> {
  const name = `waypost-apply-${set}`
  const stored = await find(client, tenantId, name)
  return {
    owned: stored.owned,
    async write(owned) {
      const body = { name, config: JSON.stringify(owned.toSorted()) }
      if (stored.configId === undefined) await client.call('systemConfigurations.tenants.create', { tenantId, body })
      else await client.call('systemConfigurations.tenants.update', { tenantId, configId: stored.configId, body })
    },
  }
}

async function find(client: Client, tenantId: string, name: string): Promise<Stored> {
  for await (const item of client.list<Item>('systemConfigurations.tenants.list', { tenantId }))
    if (item.name === name) return { configId: item.configId, owned: JSON.parse(item.config) as string[] }
  return { owned: [] }
}

interface Item {
  name: string
  configId: string
  config: string
}
