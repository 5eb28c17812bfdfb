/** Snippets: script texts that users store for reuse. Scripts cannot access them (document 5, 5.17). */
import type { Ctx } from '../../../../kernel/contract.ts'
import { checkIfMatch } from '../../../../kernel/etag.ts'
import { NoSnippet } from '../../errors.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { withoutNulls } from './rules.ts'

const snippetKind: library.Kind = {
  table: 'snippets',
  scope: 'snippet',
  resource: 'snippet',
  missing: (id) => NoSnippet({ id }),
  counter: 'revision',
  isCached: false,
}

export interface SnippetFields {
  name: string
  description?: string | undefined
  code: string
}
interface SnippetRow extends library.Row {
  code: string
}
export type SnippetView = SnippetFields & { id: string; createdAt: Date; updatedAt: Date }

export interface SnippetOperations {
  create(ctx: Ctx, fields: SnippetFields): Promise<string>
  list(ctx: Ctx, query: library.ListQuery): Promise<library.Listed<SnippetView>>
  read(ctx: Ctx, id: string): Promise<{ view: SnippetView; etag: string }>
  update(ctx: Ctx, id: string, fields: SnippetFields, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, id: string, ifMatch: string | undefined): Promise<void>
}

const columnsOf = ({ name, description, code }: SnippetFields) => ({ name, description: description ?? null, code })
const viewOf = ({ id, name, description, code, createdAt, updatedAt }: SnippetRow): SnippetView =>
  withoutNulls({ id, name, description, code, createdAt, updatedAt })

export const createSnippetOperations = (deps: Deps): SnippetOperations => ({
  create: (ctx, fields) => deps.kit.db.tx((sql) => library.insert(deps, sql, ctx, snippetKind, columnsOf(fields))),
  list: (ctx, query) => library.list(deps, ctx, snippetKind, query, (rows: SnippetRow[]) => rows.map(viewOf)),
  async read(ctx, id) {
    const row = await library.requireRow<SnippetRow>(deps.kit.db.sql, ctx, snippetKind, { id, verb: 'read' })
    return { view: viewOf(row), etag: library.etagOfRow(snippetKind, row) }
  },
  async update(ctx, id, fields, ifMatch) {
    await deps.kit.db.tx(async (sql) => {
      const row = await library.requireRow<SnippetRow>(sql, ctx, snippetKind, { id, verb: 'update', lock: true })
      checkIfMatch(ifMatch, library.etagOfRow(snippetKind, row))
      await library.change(deps, sql, snippetKind, row, columnsOf(fields))
    })
  },
  delete: (ctx, id, ifMatch) => library.remove(deps, ctx, snippetKind, { id, ifMatch }),
})
