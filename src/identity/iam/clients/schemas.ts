import { contentPage } from '../../../kernel/paging.ts'
import { type Static, Type } from '../../../kernel/schema.ts'
import { ById, Page } from '../shapes.ts'

export const Client = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum(['frontend', 'backend']),
    public: Type.Boolean(),
    redirectUris: Type.Array(Type.String()),
    webOrigins: Type.Array(Type.String()),
    roles: Type.Array(Type.String()),
  },
  { title: 'Client' },
)
export type Client = Static<typeof Client>

export const listClients = {
  name: 'clients.list',
  summary: 'List clients',
  query: Page,
  response: { 200: contentPage(Client) },
}
export const changeSecret = {
  name: 'clients.secret.rotate',
  summary: 'Make a new secret of a client; the old one stays valid for an hour',
  params: ById,
  response: { 200: Type.Object({ secret: Type.String() }, { title: 'ClientSecret' }) },
}
