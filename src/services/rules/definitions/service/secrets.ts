/** Secrets: sealed texts that scripts can read and users cannot (document 5, 5.17). */
import type { Ctx } from '../../../../kernel/contract.ts'
import { isUniqueViolation } from '../../../../kernel/db.ts'
import { InvalidRequest } from '../../../../kernel/errors.ts'
import { NoSecret, SecretNameTaken } from '../../errors.ts'
import { countOfTenant } from '../store/library.ts'
import { lockSecrets } from '../store/secrets.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { withoutNulls } from './rules.ts'

export const secretKind: library.Kind = {
  table: 'secrets',
  scope: 'secret',
  resource: 'secret',
  missing: (id) => NoSecret({ id }),
  counter: 'revision',
  isCached: true,
}

/** Maximum number of secrets of a tenant. It is limited, because nodes keep all of them in memory to mask them. */
const secretsMax = 1000

export interface SecretFields {
  name: string
  value: string
  description?: string | undefined
}
interface SecretRow extends library.Row {
  value: string
}
export interface SecretView {
  id: string
  name: string
  description?: string
  createdAt: Date
  updatedAt: Date
}

export interface SecretOperations {
  create(ctx: Ctx, fields: SecretFields): Promise<string>
  list(ctx: Ctx, query: library.ListQuery): Promise<library.Listed<SecretView>>
  read(ctx: Ctx, id: string): Promise<SecretView>
  update(ctx: Ctx, id: string, fields: Partial<SecretFields>): Promise<void>
  delete(ctx: Ctx, id: string): Promise<void>
}

const viewOf = ({ id, name, description, createdAt, updatedAt }: SecretRow): SecretView =>
  withoutNulls({ id, name, description, createdAt, updatedAt })

async function withoutSameName<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isUniqueViolation(error, 'secret_name') ? SecretNameTaken({ name }) : error
  }
}

export const createSecretOperations = (deps: Deps): SecretOperations => ({
  create: (ctx, { name, value, description }) =>
    withoutSameName(
      name,
      deps.kit.db.tx(async (sql) => {
        await lockSecrets(sql, ctx.tenantId)
        if ((await countOfTenant(sql, 'secrets', ctx.tenantId)) >= secretsMax)
          throw InvalidRequest({ problem: `A tenant has at most ${secretsMax} secrets` })
        const columns = { name, description: description ?? null, value: deps.kit.secrets.seal(value) }
        return await library.insert(deps, sql, ctx, secretKind, columns)
      }),
    ),
  list: (ctx, query) => library.list(deps, ctx, secretKind, query, (rows: SecretRow[]) => rows.map(viewOf)),
  read: async (ctx, id) =>
    viewOf(await library.requireRow<SecretRow>(deps.kit.db.sql, ctx, secretKind, { id, verb: 'read' })),
  async update(ctx, id, fields) {
    const { secrets, db } = deps.kit
    await withoutSameName(
      fields.name ?? '',
      db.tx(async (sql) => {
        const row = await library.requireRow<SecretRow>(sql, ctx, secretKind, { id, verb: 'update', lock: true })
        const value = fields.value === undefined || secrets.open(row.value) === fields.value ? row.value : undefined
        const columns = {
          name: fields.name ?? row.name,
          description: fields.description ?? row.description,
          value: value ?? secrets.seal(fields.value!),
        }
        await library.change(deps, sql, secretKind, row, columns)
      }),
    )
  },
  delete: (ctx, id) => library.remove(deps, ctx, secretKind, { id, ifMatch: undefined }),
})
