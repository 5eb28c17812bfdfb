/** Access tokens that ended before they expire. All of them are in memory: a lookup costs nothing on the hot path. */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { TokensDenied } from './events.ts'
import * as store from './store/denied.ts'

export interface Denied {
  /** `sid`: every access token of these logins; `jti`: these access tokens. */
  add(sql: Sql, tenantId: string, kind: 'sid' | 'jti', values: string[], until: Date): Promise<void>
  has(tenantId: string, token: { jti: string; sid: string | undefined }): Promise<boolean>
  /** Loaded before a transaction opens, so that `has` needs no second connection within. */
  ready(): Promise<unknown>
}

export function createDenied({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>): Denied {
  let known: Promise<Map<string, number>> | undefined
  let sweepAt = 0
  const keyOf = (tenantId: string, id: string) => `${tenantId}\n${id}`

  function load() {
    const loading = store
      .findDenied(db.sql, now())
      .then((rows) => new Map(rows.map(({ tenantId, id, expiresAt }) => [keyOf(tenantId, id), expiresAt.getTime()])))
    loading.catch(() => {
      if (known === loading) known = undefined
    })
    return loading
  }
  const current = () => {
    known ??= load()
    return known
  }

  function sweep(map: Map<string, number>) {
    const at = now().getTime()
    if (at < sweepAt) return
    sweepAt = at + 60_000
    for (const [key, until] of map) if (until <= at) map.delete(key)
  }

  bus.hear(TokensDenied, ({ tenantId, ids, expiresAt }) => {
    // Without a map there is nothing to correct: it will be read from the table, which has this already.
    known?.then(
      (map) => {
        for (const id of ids) map.set(keyOf(tenantId, id), expiresAt * 1000)
        sweep(map)
      },
      () => {},
    )
  })
  bus.onGap(() => {
    known = undefined
  })

  return {
    async add(sql, tenantId, kind, values, until) {
      // In bites that fit into one notification.
      for (let at = 0; at < values.length; at += 100) {
        const ids = values.slice(at, at + 100).map((value) => `${kind}:${value}`)
        await store.insertDenied(sql, tenantId, ids, until)
        await bus.publish(sql, TokensDenied, { tenantId, ids, expiresAt: Math.ceil(until.getTime() / 1000) })
      }
    },
    async has(tenantId, { jti, sid }) {
      const map = await current()
      const at = now().getTime()
      const denied = (id: string) => (map.get(keyOf(tenantId, id)) ?? 0) > at
      return denied(`jti:${jti}`) || (sid !== undefined && denied(`sid:${sid}`))
    },
    ready: current,
  }
}
