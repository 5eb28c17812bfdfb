/** Stores in the tenant which objects `apply` has created, so that `--prune` deletes only these objects, even on another machine. */
import type { Client } from '../../../sdk/src/index.ts'
import { monotonicMs, sleep } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { CommandError, exitCodes, usageError } from '../api/errors.ts'
import type { Creation } from './creation.ts'
import { hasEnded, thisProcess } from './process-identity.ts'

/** An object that an apply has created. An object that is created later with the same name has another identity. */
export interface Owned {
  name: string
  identity: string
}

interface Stored {
  owned: Owned[]
  /** Creations that an apply was about to request. At its end, the apply removes those from this list whose outcome it knows. */
  begun: Creation[]
  /** The apply that runs now. It renews its lease; a lease that is not renewed belongs to an apply that was interrupted. */
  lease?: Lease
}

interface Lease {
  holder: string
  renewals: number
  /** The process that has the lease. Other processes of the same machine can see whether this process has ended. */
  process?: string | undefined
}

export interface Ownership extends Omit<Stored, 'lease'> {
  /**
   * Waits until no other apply of the set runs, then takes the lease. Without the lease, two applies could create the same objects. Returns
   * false if the signal was aborted before.
   */
  lock(stop?: AbortSignal): Promise<boolean>
  /** Throws if another apply has the lease now. */
  requireLease(): Promise<void>
  stopRenewing(): void
  /** Records the creations that are about to be requested. */
  begin(creations: Creation[]): Promise<void>
  /** Records the outcome of an apply. `settled` are the creations whose outcome is known. */
  end(outcome: { created: Owned[]; deleted: string[]; settled: Creation[] }): Promise<void>
}

export function requireSetName(set: string) {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(set)) throw usageError('--set: expected letters, digits, _ and -')
}

export async function readOwnership(client: Client, tenantId: string, set: string): Promise<Ownership> {
  const name = `waypost-apply-${set}`
  const change = (next: (stored: Stored) => Stored | undefined) => changeStored(client, tenantId, name, next)
  const { owned, begun } = (await find(client, tenantId, name)).stored
  const lease = leaseOf(async () => (await find(client, tenantId, name)).stored.lease, change)
  return {
    owned,
    begun,
    ...lease,
    begin: async (creations) =>
      void (await change((stored) => ({ ...stored, begun: [...without(stored.begun, creations), ...creations] }))),
    async end({ created, deleted, settled }) {
      lease.stopRenewing()
      const names = created.map(({ name: one }) => one)
      await change((stored) => ({
        owned: [...stored.owned.filter((one) => !names.includes(one.name)), ...created]
          .filter((one) => !deleted.includes(one.name))
          .sort(byName),
        begun: without(stored.begun, settled),
      }))
    },
  }
}

/** A lease that is not renewed for this time has ended. */
const leaseMs = 6_000
const renewMs = 1_500
const pollMs = 500

type Change = (next: (stored: Stored) => Stored | undefined) => Promise<boolean>

/**
 * Returns the functions of the lease. A lease has ended when this process has seen no renewal of it for some time. Times of other machines
 * are not used, because their clocks differ.
 */
function leaseOf(
  read: () => Promise<Lease | undefined>,
  change: Change,
): Pick<Ownership, 'lock' | 'requireLease' | 'stopRenewing'> {
  const holder = newId()
  const own = thisProcess()
  let [renewals, renewedAt, isLost] = [0, 0, false]
  let timer: NodeJS.Timeout | undefined
  const isSame = (a: Lease | undefined, b: Lease | undefined) => a?.holder === b?.holder && a?.renewals === b?.renewals
  /**
   * Takes the lease, unless another apply has taken it. This process may already have the lease, if the response to its previous attempt
   * was lost.
   */
  const take = (from: Lease | undefined) =>
    change((stored) => {
      const isOurs = stored.lease?.holder === holder
      return isOurs || isSame(stored.lease, from)
        ? { ...stored, lease: { holder, renewals: ++renewals, process: own } }
        : undefined
    })
  async function renew() {
    if (await take({ holder, renewals })) renewedAt = monotonicMs()
    else isLost = true
  }
  /** Renews the lease between and during steps, because one step can take longer than the lease. A failed renewal is repeated. */
  function renewLater() {
    timer = setTimeout(() => {
      const next = () => timer && !isLost && renewLater()
      renew().then(next, next)
    }, renewMs).unref()
  }
  return {
    async lock(stop) {
      let [seen, since, isNoticed] = [await read(), monotonicMs(), false]
      while (true) {
        if (stop?.aborted) return false
        const isFree = seen === undefined || hasEnded(seen.process) || monotonicMs() - since > leaseMs
        if (isFree && (await take(seen))) break
        if (!isFree && !isNoticed)
          process.stderr.write(`waypost: another apply runs, or was interrupted; waiting up to ${leaseMs / 1000} s\n`)
        isNoticed ||= !isFree
        if (!isFree) await sleep(pollMs)
        const lease = await read()
        if (!isSame(lease, seen)) since = monotonicMs()
        seen = lease
      }
      renewedAt = monotonicMs()
      renewLater()
      return true
    },
    async requireLease() {
      // The last renewal is this long ago if this process was suspended, or if the platform did not answer.
      if (monotonicMs() - renewedAt > 2 * renewMs) await renew()
      if (isLost)
        throw new CommandError('another apply of the same set has begun; plan and apply again', exitCodes.conflict)
    },
    stopRenewing() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

const byName = (a: Owned, b: Owned) => (a.name < b.name ? -1 : 1)
const without = (from: Creation[], creations: Creation[]) =>
  from.filter((one) => !creations.some(({ correlationId }) => correlationId === one.correlationId))

/** Maximum number of attempts to store a change. An attempt fails if another apply stores a change at the same time. */
const attemptsMax = 10

/** Stores the value that `next` returns. If `next` returns undefined, nothing is stored, and the result is false. */
async function changeStored(
  client: Client,
  tenantId: string,
  name: string,
  next: (stored: Stored) => Stored | undefined,
): Promise<boolean> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { configId, etag, stored } = await find(client, tenantId, name)
    const changed = next(stored)
    if (changed === undefined) return false
    const body = { name, config: JSON.stringify(changed) }
    if (configId === undefined) {
      if (await isCreated(client, tenantId, body)) return true
      continue
    }
    const args = { tenantId, configId, body }
    const { status } = await client.call('systemConfigurations.tenants.update', args, { ifMatch: etag! })
    if (status !== 412) return true
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
