/** The database access of the VPN server. */

import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { toSecond } from '../../../kernel/pki/certificate-fields.ts'
import type { PkiWorker } from '../../../kernel/pki/worker.ts'
import type { Secrets } from '../../../kernel/secrets.ts'
import type { Authorities, Installation } from '../service/authorities.ts'
import * as store from '../store/server.ts'

export interface ServerData {
  findLease(): Promise<store.LeaseRow | undefined>
  takeLease(claim: { holder: string; host: string; seen: store.LeaseRow | undefined }): Promise<boolean>
  writeHeartbeat(holder: string, state: store.ServerState): Promise<boolean>
  releaseLease(holder: string, problem: string | undefined): Promise<void>
  installation(): Promise<Installation>
  findForVerification(id: string): Promise<store.VerificationRow | undefined>
  findNotPermitted(ids: string[]): Promise<string[]>
  saveConnected(ids: string[]): Promise<void>
  /** Returns the current revocation lists of all authorities as PEM. The text is the same until a list is created or removed. */
  revocationLists(): Promise<string>
  close(): Promise<void>
}

/** Time for which a revocation list is valid. A new list is created every day. */
const listValidMs = 7 * 86_400_000
const listRenewedMs = 86_400_000

/** Time limit of a statement, so that a slow statement does not delay the heartbeat. */
const answerMs = 5000

export function createServerData(deps: {
  db: Db
  secrets: Secrets
  authorities: Authorities
  worker: PkiWorker
  now: Clock
  close(): Promise<void>
}): ServerData {
  const { db, authorities } = deps
  const { sql } = db
  return {
    findLease: () => inTime(store.findLease(sql)),
    takeLease: (claim) => inTime(store.takeLease(sql, claim)),
    writeHeartbeat: (holder, state) => inTime(store.writeHeartbeat(sql, holder, state)),
    releaseLease: (holder, problem) => inTime(store.releaseLease(sql, holder, problem)),
    installation: () => inTime(authorities.installation()),
    findForVerification: (id) => inTime(store.findForVerification(sql, id)),
    findNotPermitted: (ids) => inTime(store.findNotPermitted(sql, ids)),
    saveConnected: (ids) => inTime(store.saveConnected(sql, ids)),
    revocationLists: createLists(deps),
    close: deps.close,
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('the database did not answer in time')), answerMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function createLists({ db, secrets, worker, now }: Parameters<typeof createServerData>[0]) {
  const known = new Map<string, { revision: number; createdMs: number; pem: string }>()
  let text: string | undefined
  return async () => {
    const listed = await inTime(store.findListedAuthorities(db.sql))
    for (const { tenantId, certificate, sealedKey, revision } of listed) {
      const nowMs = now().getTime()
      const before = known.get(tenantId)
      if (before?.revision === revision && nowMs - before.createdMs < listRenewedMs) continue
      const thisUpdate = toSecond(now())
      const entries = await store.findRevoked(db.sql, tenantId)
      const bytes = await worker.make('makeRevocationList', {
        issuer: { certificate, privateKey: secrets.open(sealedKey) },
        number: Math.floor(nowMs / 1000),
        thisUpdate,
        nextUpdate: new Date(thisUpdate.getTime() + listValidMs),
        entries: entries.map((entry) => ({ ...entry, isOnHold: false })),
      })
      known.set(tenantId, { revision, createdMs: nowMs, pem: pemOf(bytes) })
      text = undefined
    }
    const current = new Set(listed.map(({ tenantId }) => tenantId))
    for (const tenantId of known.keys()) {
      if (current.has(tenantId)) continue
      known.delete(tenantId)
      text = undefined
    }
    text ??= [...known.values()].map(({ pem }) => pem).join('')
    return text
  }
}

function pemOf(bytes: Uint8Array): string {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .match(/.{1,64}/g)!
  return ['-----BEGIN X509 CRL-----', ...lines, '-----END X509 CRL-----', ''].join('\n')
}
