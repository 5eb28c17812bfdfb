/** Creates the two built-in realms, each with an administrator, and writes their credentials to bootstrap.json. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Identity } from '../identity/contract.ts'
import type { Sql } from '../kernel/db.ts'
import { newSecret } from '../kernel/ids.ts'
import { Tenants } from '../services/tenants/contract.ts'
import type { BuiltServices } from './build.ts'
import { adminName, passwordName } from './first-password.ts'

export interface RealmSecrets {
  tenantId: string
  backendClient: { id: string; secret: string }
  frontendClient: { id: string }
  /** The administrator. The password is absent after the administrator has changed it, so that the file never contains a wrong password. */
  admin: { username: string; password?: string }
}

export interface Bootstrap {
  platform: RealmSecrets
  default: RealmSecrets
}

/** Creates the realms. `onCreate` is called with the tenant of each administrator that did not exist before. */
export async function bootstrap(
  platformServices: BuiltServices,
  onCreate: (tenantId: string) => void = () => {},
): Promise<Bootstrap> {
  // Both realms are created at the same time, because most of the time is spent on generating keys and hashing passwords in other threads.
  const [platform, defaultRealm] = await Promise.all([
    ensureRealm(platformServices, 'platform', ['platform-admin', 'tenant-admin'], onCreate),
    ensureRealm(platformServices, 'default', ['tenant-admin'], onCreate),
  ])
  return { platform, default: defaultRealm }
}

async function ensureRealm(
  platformServices: BuiltServices,
  tenantId: string,
  adminRoles: string[],
  onCreate: (tenantId: string) => void,
): Promise<RealmSecrets> {
  await platformServices.ask(Tenants).ensureBuiltIn(tenantId)
  const identity = platformServices.ask(Identity)
  const { password, isNew } = await ensureAdmin(platformServices, tenantId, adminRoles)
  if (isNew) onCreate(tenantId)
  const realm = await identity.realm(tenantId)
  if (!realm) throw new Error(`realm ${tenantId} is missing after it was created`)
  return {
    tenantId,
    backendClient: { id: realm.backendClientId, secret: realm.backendClientSecret },
    frontendClient: { id: realm.frontendClientId },
    admin: { username: adminName, ...(password !== undefined && { password }) },
  }
}

/** Creates the administrator if it is missing. The password is stored encrypted, so that every start can write bootstrap.json. */
async function ensureAdmin(
  { kit, ask }: BuiltServices,
  tenantId: string,
  roles: string[],
): Promise<{ password: string | undefined; isNew: boolean }> {
  const name = passwordName(tenantId)
  const read = async (sql: Sql) => (await sql`select sealed from kernel.vault where name = ${name}`)[0]
  return await kit.db.tx(async (sql) => {
    let known = await read(sql)
    if (!known) {
      // If several nodes start on an empty database, the first node creates the administrator, and the other nodes read the password.
      await sql`select pg_advisory_xact_lock(hashtextextended(${`waypost.bootstrap ${tenantId}`}, 0))`
      known = await read(sql)
    }
    if (known) return { password: kit.secrets.open(known.sealed) || undefined, isNew: false }
    const password = newSecret(15)
    await ask(Identity).createUser(sql, tenantId, { username: adminName, password, roles })
    await sql`insert into kernel.vault (name, sealed) values (${name}, ${kit.secrets.seal(password)})`
    return { password, isNew: true }
  })
}

/** Returns a link with which the administrator of realm `default` chooses a password. It can be used once, within 15 minutes. */
export async function firstLink({ ask }: BuiltServices, baseUrl: string): Promise<string | undefined> {
  const identity = ask(Identity)
  const { users } = await identity.findUsers('default', { search: adminName, offset: 0, limit: 100 })
  const admin = users.find(({ username }) => username === adminName)
  return admin && baseUrl + (await identity.operator.createPasswordLink('default', admin.id))
}

/** Writes the file atomically, so that another process never reads a part of it. */
export function writeBootstrapFile(dataDirectory: string, content: object): string {
  const file = join(dataDirectory, 'bootstrap.json')
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  return file
}
