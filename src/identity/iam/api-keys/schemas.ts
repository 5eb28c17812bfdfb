import { contentPage } from '../../../kernel/paging.ts'
import { DateTime, DateTimeText, describedAs, Empty, Name, type Static, Type } from '../../../kernel/schema.ts'
import { byId, Page, Scopes, SubjectName, scopeNames } from '../shapes.ts'

const fields = {
  id: Type.String({ description: 'Id of the API key; it is not the key itself.' }),
  name: Type.String({ description: 'Name of the API key for people.' }),
  owner: describedAs(
    SubjectName,
    'User or client that the key belongs to. The key never holds more scopes than its owner.',
  ),
  scopes: Type.Optional(
    scopeNames('Scopes that the key is limited to. If it is omitted, the key has all scopes of its owner.'),
  ),
  expiresAt: Type.Optional(
    DateTime({ description: 'Time at which the key expires, in UTC. Omitted if it never expires.' }),
  ),
  lastUsedAt: Type.Optional(
    DateTime({
      description: 'Time of the last use of the key, in UTC, exact to the minute. Omitted if it was never used.',
    }),
  ),
  createdAt: DateTime({ description: 'Time at which the key was created, in UTC.' }),
}
export const ApiKey = Type.Object(fields, {
  title: 'ApiKey',
  description: 'An API key, without the secret text.',
})
export type ApiKey = Static<typeof ApiKey>

export const NewApiKey = Type.Object(
  {
    name: Name({ description: 'Name of the API key for people: 1 to 255 characters.' }),
    scopes: Type.Optional(Scopes('Scopes that the key is limited to. Default: all scopes that the caller holds.')),
    expiresAt: Type.Optional(
      DateTimeText({
        description: 'Time at which the key expires, in ISO 8601 and in the future. Default: the key does not expire.',
      }),
    ),
  },
  { title: 'NewApiKey', description: 'An API key to create for the caller.' },
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
  summary: 'Create an API key for the caller',
  description:
    'The key is shown only in this response. A key that is created with another key has at most the scopes and the lifetime of that key.',
  body: NewApiKey,
  response: {
    201: Type.Object(
      {
        ...fields,
        key: Type.String({ description: 'The key, for the header `X-Identity-API-Key`. Only this response shows it.' }),
      },
      { title: 'CreatedApiKey', description: 'A new API key with its secret text.' },
    ),
  },
  fails: {
    403: 'The caller does not hold `identity:api-key:create` or a requested scope, or is a user of an external issuer.',
  },
}
export const deleteApiKey = {
  name: 'apiKeys.delete',
  summary: 'Revoke an API key',
  description: 'The key stops working within a second.',
  params: byId('API key'),
  response: { 204: Empty() },
  fails: { 404: 'The tenant has no API key with this id, or the caller may not read it.' },
}
