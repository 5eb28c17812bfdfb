/** Calls the platform with the SDK through a proxy that breaks connections. Asserts that no read fails, and that no write happens twice. */
import assert from 'node:assert/strict'
import { createClient, WaypostError } from '../../sdk/src/index.ts'
import { openHostileProxy } from '../harness/hostile-proxy.ts'

export interface ProxyOutcome {
  reads: number
  failedReads: number
  writes: number
  /** Writes whose response was lost. The platform executed such a write once or not at all. */
  unknownWrites: number
  doubleWrites: number
  disturbances: Record<string, number>
}

/** Number of loops that run rounds at the same time, each with its own asset type. */
const lanes = 8

type Auth = { tenant: string; clientId: string; clientSecret: string }

/**
 * In each round, creates an asset, reads it and changes it with its ETag. If the SDK sent a create request twice, two assets would exist.
 */
export async function callThroughProxy(url: string, auth: Auth, rounds: number, seed: number): Promise<ProxyOutcome> {
  const proxy = await openHostileProxy(url, seed)
  const direct = createClient({ url, auth })
  const client = createClient({ url: proxy.url, auth, attemptTimeoutMs: 500, attempts: 40, timeoutMs: 120_000 })
  const outcome = { reads: 0, failedReads: 0, writes: 0, unknownWrites: 0, doubleWrites: 0 }
  const read = async <T>(work: Promise<T>): Promise<T | undefined> => {
    outcome.reads++
    try {
      return await work
    } catch (error) {
      outcome.failedReads++
      console.error(error)
      return undefined
    }
  }
  /** Returns undefined if the response was lost. In this case, the platform may have executed the write. */
  const write = async <T>(work: Promise<T>): Promise<T | undefined> => {
    outcome.writes++
    try {
      return await work
    } catch (error) {
      assert.ok(error instanceof WaypostError, String(error))
      assert.ok(error.status === undefined || error.status === 503, `${error.status} ${error.message}`)
      outcome.unknownWrites++
      return undefined
    }
  }

  async function round(assetTypeId: string, number: number) {
    const name = `a-${number}`
    const definition = JSON.stringify({ name })
    const created = await write(client.assets.create({ body: { assetTypeId, definition } }))
    const found = []
    // The platform can receive a request after the client has stopped waiting for the response, even during a later round.
    for await (const one of direct.assets.list({ assetTypeIds: assetTypeId }))
      if (JSON.parse(one.definition).name === name) found.push(one)
    if (found.length > 1) outcome.doubleWrites++
    if (created !== undefined) assert.equal(found.length, 1, 'every acknowledged write must be stored')
    const [asset] = found
    if (asset === undefined) return
    const args = { assetId: asset.id }
    const current = await read(client.assets.get(args))
    if (current?.etag === undefined) return
    const changed = JSON.stringify({ name: `b-${number}` })
    const update = await write(
      client.assets.update({ ...args, body: { definition: changed } }, { ifMatch: current.etag }),
    )
    // The SDK repeats a conditional write until the outcome is known: the write succeeded, or its condition failed because an earlier
    // attempt had succeeded.
    if (update?.status === 412) assert.ok(update.attempts > 1)
    if (update !== undefined)
      assert.deepEqual(JSON.parse((await direct.assets.get(args)).body.definition), JSON.parse(changed))
    for (const { id } of found) await direct.assets.delete({ assetId: id })
  }

  let next = 0
  async function lane(number: number) {
    const body = { displayName: `Hostile ${seed} ${number}`, definitionJsonSchema: '{"type":"object"}' }
    const { id } = (await direct.assetTypes.create({ body })).body
    while (next < rounds) await round(id, next++)
  }

  try {
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
  } finally {
    proxy.close()
  }
  return { ...outcome, disturbances: proxy.counts }
}
