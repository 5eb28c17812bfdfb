/** Starts the platform for a measurement, creates an application with three versions, and connects to the database of the platform. */
import { join } from 'node:path'
import { connect, type Pool } from '../../src/kernel/db.ts'
import { connectEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { type Ask, bearer, client, tokenOf } from '../../test/harness/client.ts'
import { removeDirectory, type StartedPlatform, serviceToken, startPlatform, temporaryDirectory } from '../platform.ts'

export const root = '/epr/api/v1'
export const applicationName = 'bench'
export const versionNames = ['bench-v1', 'bench-v2', 'bench-v3']

export interface BenchPlatform {
  platform: StartedPlatform
  directory: string
  tenantId: string
  /** A pool of one connection, because a request of the platform also uses one connection. */
  sql: Pool
  /** Token with all permissions in the tenant. */
  token(): Promise<string>
  ask: Ask
  close(): Promise<void>
}

/** Starts the platform. With `keptDirectory`, the data is kept for further runs, which use the existing application and its versions. */
export async function openBenchPlatform(
  environment: Record<string, string> = {},
  keptDirectory?: string,
): Promise<BenchPlatform> {
  const directory = keptDirectory ?? temporaryDirectory()
  const platform = await startPlatform(directory, environment)
  const sql = connect(await connectAsSuperuser(directory), { max: 1, name: 'bench', statementSeconds: 0 })
  const token = cached(() => serviceToken(platform, platform.bootstrap.default))
  const ask: Ask = async (operation, body, headers) =>
    client(platform.baseUrl, bearer(await token()))(operation, body, headers)
  const create = async (path: string, body: object) => {
    const answer = await ask(`POST /api/v1/applications${path}`, body)
    const exists = keptDirectory !== undefined && answer.status === 409
    if (answer.status !== 201 && !exists) throw new Error(`${answer.status} ${answer.text}`)
  }
  await create('', { name: applicationName })
  for (const name of versionNames)
    await create(`/${applicationName}/app-versions`, { nameSuffix: name.slice(applicationName.length + 1) })
  return {
    platform,
    directory,
    tenantId: platform.bootstrap.default.tenantId,
    sql,
    token,
    ask,
    async close() {
      await sql.end({ timeout: 5 })
      await platform.stop()
      if (keptDirectory === undefined) removeDirectory(directory)
    },
  }
}

export async function connectAsSuperuser(directory: string) {
  const connection = await connectEmbeddedPostgres(join(directory, 'postgres'), 'superuser')
  if (!connection) throw new Error('the database of the platform was not found')
  return connection
}

/** Creates a user who may read only these endpoints, and returns a function for the token of this user. */
export async function createReaderOf({ platform, tenantId, ask }: BenchPlatform, endpointIds: string[]) {
  const iam = '/iam/api/v1'
  const login = { username: 'reader', password: 'correct horse battery staple' }
  const createdUser = await ask(`POST ${iam}/users`, login)
  if (createdUser.status !== 201) throw new Error(`${createdUser.status} ${createdUser.text}`)
  for (const endpointId of endpointIds) {
    const resource = `endpoint-${endpointId}`
    const grant = { subject: { type: 'user', id: createdUser.body.id }, resource, scopes: ['endpoint:read'] }
    const granted = await ask(`POST ${iam}/grants`, grant)
    if (granted.status !== 201) throw new Error(`${granted.status} ${granted.text}`)
  }
  const { frontendClient } = platform.bootstrap.default
  return cached(() =>
    tokenOf(platform.baseUrl, tenantId, { grant_type: 'password', client_id: frontendClient.id, ...login }),
  )
}

const cacheMilliseconds = 120_000

/** Caches a token and renews it, because a measurement takes longer than a token is valid. */
function cached(make: () => Promise<string>): () => Promise<string> {
  let [token, since] = ['', Number.NEGATIVE_INFINITY]
  return async () => {
    if (performance.now() - since > cacheMilliseconds) [token, since] = [await make(), performance.now()]
    return token
  }
}
