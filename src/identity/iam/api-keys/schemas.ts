import { contentPage } from '../../../kernel/paging.ts'
import { DateTime, DateTimeText, Empty, Name, type Static, Type } from '../../../kernel/schema.ts'
import { ById, Page, Scopes, SubjectName } from '../shapes.ts'

const fields = {
  id: Type.String(),
  name: Type.String(),
  owner: SubjectName,
  scopes: Type.Optional(Type.Array(Type.String(), { description: 'Absent: all that the owner holds' })),
  expiresAt: Type.Optional(DateTime()),
  lastUsedAt: Type.Optional(DateTime({ description: 'To the minute' })),
  createdAt: DateTime(),
}
export const ApiKey = Type.Object(fields, { title: 'ApiKey' })
export type ApiKey = Static<typeof ApiKey>

export const NewApiKey = Type.Object(
  {
    name: Name(),
    scopes: Type.Optional(Scopes()),
    expiresAt: Type.Optional(DateTimeText()),
  },
  { title: 'NewApiKey' },
)
export type NewApiKey = Static<typeof NewApiKey>

export const listApiKeys = {
  name: 'apiKeys.list',
  summary: 'List API keys',
  query: Page,
  response: { 200: contentPage(ApiKey) },
}
export const createApiKey = {
  name: 'apiKeys.create',
  summary: 'Create an API key of the caller; the key is shown this once',
  body: NewApiKey,
  response: { 201: Type.Object({ ...fields, key: Type.String() }, { title: 'CreatedApiKey' }) },
}
export const deleteApiKey = {
  name: 'apiKeys.delete',
  summary: 'Revoke an API key',
  params: ById,
  response: { 204: Empty() },
}
