/** The second factors of users: TOTP, WebAuthn and recovery codes. Wrong codes count towards a separate lockout. */
import { createHash, randomInt } from 'node:crypto'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { LoginLockout, Wait } from '../login-lockout.ts'
import * as store from '../store/second-factors.ts'
import type { Realm, User } from '../types.ts'
import { stepOfCode } from './totp.ts'
import { verifyAuthentication, verifyRegistration } from './webauthn.ts'

/** The next step of a login after the password: none, a second factor, or the enrolment of a second factor. */
export type Requirement = 'none' | 'factor' | 'enrol'

/** The accepted factor, as an `amr` value (RFC 8176). */
export type FactorCheck = { amr: string } | 'wrong' | Wait

export type SecondFactors = ReturnType<typeof createSecondFactors>

const recoveryCodes = 10
/** Characters of recovery codes. Characters that look alike are left out. */
const recoveryAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const recoveryLength = 16
const totpName = 'Authenticator app'
const keyName = 'Security key'

const normalized = (code: string) => code.toLowerCase().replace(/[^a-z0-9]/g, '')
const newRecoveryCode = () =>
  Array.from({ length: recoveryLength }, () => recoveryAlphabet[randomInt(recoveryAlphabet.length)]).join('')
/** Formats a code in groups of four, so that people can read it. */
const grouped = (code: string) => code.replace(/.{4}(?=.)/g, '$&-')
const hashOf = (userId: string, code: string) =>
  createHash('sha256')
    .update(`${userId}\n${normalized(code)}`)
    .digest()

type Deps = Pick<Kit, 'db' | 'now' | 'newId' | 'secrets' | 'baseUrl'> & { lockout: LoginLockout }

export function createSecondFactors(deps: Deps) {
  const { db, now, newId, secrets, baseUrl } = deps

  async function useTotp(tenantId: string, factors: store.FactorRow[], code: string): Promise<boolean> {
    for (const { id, kind, secretSealed } of factors) {
      const step = kind === 'totp' ? stepOfCode(secrets.open(secretSealed!), code, now()) : undefined
      if (step !== undefined) return await store.useStep(db.sql, tenantId, id, step, now())
    }
    return false
  }

  return {
    find: (tenantId: string, userId: string) => store.findFactors(db.sql, tenantId, userId),
    countRecoveryCodes: (tenantId: string, userId: string) => store.countRecoveryCodes(db.sql, tenantId, userId),

    async requirementOf({ secondFactor, tenantId }: Realm, userId: string): Promise<Requirement> {
      if (secondFactor === 'off') return 'none'
      if ((await store.findFactors(db.sql, tenantId, userId)).length > 0) return 'factor'
      return secondFactor === 'required' ? 'enrol' : 'none'
    },

    /** Checks a code of an authenticator app and consumes it. With `allowRecovery`, a recovery code is accepted too. */
    checkCode: (tenantId: string, userId: string, code: string, address: string, allowRecovery: boolean) =>
      limited(deps, tenantId, userId, address, async () => {
        const digits = code.replace(/\s/g, '')
        if (/^\d{6}$/.test(digits)) {
          const factors = await store.findFactors(db.sql, tenantId, userId)
          return (await useTotp(tenantId, factors, digits)) ? 'otp' : undefined
        }
        if (!allowRecovery || normalized(code).length !== recoveryLength) return undefined
        return (await store.useRecoveryCode(db.sql, tenantId, userId, hashOf(userId, code))) ? 'kba' : undefined
      }),

    /** Checks the response of a security key to a challenge. */
    checkKey: (tenantId: string, userId: string, challenge: string, response: string, address: string) =>
      limited(deps, tenantId, userId, address, async () => {
        const factors = await store.findFactors(db.sql, tenantId, userId)
        const found = await verifyAuthentication(baseUrl(), challenge, response, factors)
        if (!found) return undefined
        return (await store.useCounter(db.sql, tenantId, found.factor.id, found.counter, now())) ? 'hwk' : undefined
      }),

    /** Stores an authenticator app if its first code is right. Otherwise returns false. */
    async addTotp(tenantId: string, user: User, secretSealed: string, code: string): Promise<boolean> {
      const step = stepOfCode(secrets.open(secretSealed), code.replace(/\s/g, ''), now())
      if (step === undefined) return false
      const factor = { id: newId(), kind: 'totp' as const, name: totpName, secretSealed, lastStep: step }
      return await store.insertFactor(db.sql, tenantId, user.id, { ...factor, createdAt: now() })
    },

    /** Stores a security key. Returns false if the response does not match the challenge, or if the key is already registered. */
    async addKey(tenantId: string, user: User, challenge: string, response: string): Promise<boolean> {
      const credential = await verifyRegistration(baseUrl(), challenge, response)
      if (!credential) return false
      return await store.insertFactor(db.sql, tenantId, user.id, {
        id: newId(),
        kind: 'webauthn',
        name: keyName,
        credentialId: credential.id,
        publicKey: Buffer.from(credential.publicKey),
        counter: credential.counter,
        transports: credential.transports ?? [],
        createdAt: now(),
      })
    },

    /** Replaces the recovery codes of a user. Only this result contains the codes. */
    async newRecoveryCodes(tenantId: string, userId: string): Promise<string[]> {
      const codes = Array.from({ length: recoveryCodes }, newRecoveryCode)
      const hashes = codes.map((code) => hashOf(userId, code))
      await db.tx((sql) => store.replaceRecoveryCodes(sql, tenantId, userId, hashes))
      return codes.map(grouped)
    },

    /** Removes one factor. If the user has no factor left, also removes the recovery codes. */
    remove: (tenantId: string, userId: string, id: string) =>
      db.tx(async (sql) => {
        if (!(await store.deleteFactor(sql, tenantId, userId, id))) return false
        if ((await store.findFactors(sql, tenantId, userId)).length === 0)
          await store.deleteFactors(sql, tenantId, userId)
        return true
      }),

    removeAll: (sql: Sql, tenantId: string, userId: string) => store.deleteFactors(sql, tenantId, userId),
  }
}

/** Runs a check under the lockout of second factors. Entering the right password does not reset this lockout. */
async function limited(
  { lockout }: Deps,
  tenantId: string,
  userId: string,
  address: string,
  check: () => Promise<string | undefined>,
): Promise<FactorCheck> {
  const attempt = await lockout.reserve({ account: `factor\n${tenantId}\n${userId}`, address })
  if ('wait' in attempt) return attempt
  let amr: string | undefined
  try {
    amr = await check()
  } catch (error) {
    await attempt.release()
    throw error
  }
  if (amr === undefined) {
    await attempt.recordFailure()
    return 'wrong'
  }
  await attempt.recordSuccess()
  return { amr }
}
