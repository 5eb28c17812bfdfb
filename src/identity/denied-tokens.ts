/** The list of access tokens that were revoked before they expire. Each node has the list in memory, for fast checks. */
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { TokensDenied } from './events.ts'
import * as store from './store/denied.ts'

export interface DeniedTokens {
  /** Denies access tokens until they expire. The kind `sid` denies all tokens of these logins, `jti` denies these tokens. */
  add(sql: Sql, tenantId: string, kind: 'sid' | 'jti', values: string[], until: Date): Promise<void>
  has(tenantId: string, token: { jti: string; sid: string | undefined }): Promise<boolean>
  /** Loads the list. It is called before a transaction opens, so that `has` needs no second connection during the transaction. */
  load(): Promise<unknown>
}

export function createDeniedTokens({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>): DeniedTokens {
  let deniedTokens: Promise<Map<string, number>> | undefined
  let sweepAt = 0
  const keyOf = (tenantId: string, id: string) => `${tenantId}\n${id}`

  function readAll() {
    const loading = store
      .findDenied(db.sql, now())
      .then((rows) => new Map(rows.map(({ tenantId, id, expiresAt }) => [keyOf(tenantId, id), expiresAt.getTime()])))
    loading.catch(() => {
      if (deniedTokens === loading) deniedTokens = undefined
    })
    return loading
  }
  const loadOnce = () => {
    deniedTokens ??= readAll()
    return deniedTokens
  }

  function sweep(map: Map<string, number>) {
    const at = now().getTime()
    if (at < sweepAt) return
    sweepAt = at + 60_000
    for (const [key, until] of map) if (until <= at) map.delete(key)
  }

  bus.subscribe(TokensDenied, ({ tenantId, ids, expiresAt }) => {
    // If the list is not loaded yet, nothing needs to be added, because the table already contains these ids.
    deniedTokens?.then(
      (map) => {
        for (const id of ids) map.set(keyOf(tenantId, id), expiresAt * 1000)
        sweep(map)
      },
      () => {},
    )
  })
  bus.onReset(() => {
    deniedTokens = undefined
  })

  return {
    async add(sql, tenantId, kind, values, until) {
      // Batches of 100 ids fit into one notification.
      for (let start = 0; start < values.length; start += 100) {
        const ids = values.slice(start, start + 100).map((value) => `${kind}:${value}`)
        await store.insertDenied(sql, tenantId, ids, until)
        await bus.publish(sql, TokensDenied, { tenantId, ids, expiresAt: Math.ceil(until.getTime() / 1000) })
      }
    },
    async has(tenantId, { jti, sid }) {
      const map = await loadOnce()
      const at = now().getTime()
      const isDenied = (id: string) => (map.get(keyOf(tenantId, id)) ?? 0) > at
      return isDenied(`jti:${jti}`) || (sid !== undefined && isDenied(`sid:${sid}`))
    },
    load: loadOnce,
  }
}
