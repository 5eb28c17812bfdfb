/** Stores in the tenant which objects `apply` has created. `--prune` therefore deletes only these objects, on any machine. */
import type { Client } from '../../../sdk/src/index.ts'
import { CommandError, exitCodes, usageError } from '../api/errors.ts'

interface Stored {
  /** Objects that an apply has created. */
  owned: string[]
  /** Objects that an apply was about to create. At its end, the apply removes them from this list, unless it was interrupted. */
  begun: string[]
}

export interface Ownership extends Stored {
  /** Records the objects that are about to be created. */
  begin(names: string[]): Promise<void>
  /** Records the outcome of an apply. `begun` are the names that were given to `begin`. */
  end(outcome: { created: string[]; deleted: string[]; begun: string[] }): Promise<void>
}

export async function readOwnership(client: Client, tenantId: string, set: string): Promise<Ownership> {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(set)) throw usageError('--set: expected letters, digits, _ and -')
  const change = (next: (stored: Stored) => Stored) => changeStored(client, tenantId, `waypost-apply-${set}`, next)
  const { owned, begun } = (await find(client, tenantId, `waypost-apply-${set}`)).stored
  return {
    owned,
    begun,
    begin: (names) => change((stored) => ({ ...stored, begun: union(stored.begun, names) })),
    end: ({ created, deleted, begun: ended }) =>
      change((stored) => ({
        owned: without(union(stored.owned, created), deleted),
        begun: without(stored.begun, ended),
      })),
  }
}

const union = (a: string[], b: string[]) => [...new Set([...a, ...b])].sort()
const without = (a: string[], b: string[]) => a.filter((name) => !b.includes(name))

/** Maximum number of attempts to store a change. An attempt fails if another apply stores a change at the same time. */
const attemptsMax = 10

async function changeStored(client: Client, tenantId: string, name: string, next: (stored: Stored) => Stored) {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { configId, etag, stored } = await find(client, tenantId, name)
    const body = { name, config: JSON.stringify(next(stored)) }
    if (configId === undefined) {
      if (await isCreated(client, tenantId, body)) return
      continue
    }
    const args = { tenantId, configId, body }
    const { status } = await client.call('systemConfigurations.tenants.update', args, { ifMatch: etag! })
    if (status !== 412) return
  }
  throw new CommandError(`${name} is changed by other commands all the time; apply again later`, exitCodes.conflict)
}

/** Creates the stored list of objects. Returns false if another apply has created it at the same time. */
async function isCreated(client: Client, tenantId: string, body: { name: string; config: string }) {
  try {
    await client.call('systemConfigurations.tenants.create', { tenantId, body })
    return true
  } catch (error) {
    if ((error as { status?: number }).status === 409) return false
    throw error
  }
}

async function find(client: Client, tenantId: string, name: string) {
  const none: Stored = { owned: [], begun: [] }
  for await (const item of client.list<Item>('systemConfigurations.tenants.list', { tenantId })) {
    if (item.name !== name) continue
    const { configId } = item
    const { body, etag } = await client.call('systemConfigurations.tenants.get', { tenantId, configId })
    return { configId, etag, stored: { ...none, ...(JSON.parse((body as Item).config) as Partial<Stored>) } }
  }
  return { configId: undefined, etag: undefined, stored: none }
}

interface Item {
  name: string
  configId: string
  config: string
}
