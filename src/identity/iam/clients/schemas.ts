import { contentPage } from '../../../kernel/paging.ts'
import { type Static, Type } from '../../../kernel/schema.ts'
import { byId, Page, roleNames } from '../shapes.ts'

export const Client = Type.Object(
  {
    id: Type.String({ description: 'Id of the client.' }),
    kind: Type.Enum(['frontend', 'backend'], {
      description:
        'frontend: for logins of users. backend: for service accounts, and for logins in web applications that keep a secret.',
    }),
    public: Type.Boolean({ description: 'True when the client has no secret.' }),
    redirectUris: Type.Array(Type.String({ description: 'Address, or a prefix that ends in `*`.' }), {
      description:
        'Addresses that a login may return to. A frontend client may also return to the base URL and to loopback addresses.',
    }),
    webOrigins: Type.Array(Type.String({ description: 'Origin, such as `https://app.example.com`.' }), {
      description: 'Origins of web pages that may call the platform (CORS).',
    }),
    pkceRequired: Type.Boolean({ description: 'True when logins of this client need PKCE with S256.' }),
    roles: roleNames('Roles of the service account of the client.'),
  },
  { title: 'Client', description: 'An OAuth 2.0 client of the tenant.' },
)
export type Client = Static<typeof Client>

const listMax = 100
export const ClientChange = Type.Object(
  {
    redirectUris: Type.Optional(
      Type.Array(
        Type.String({ minLength: 1, maxLength: 2000, description: 'Absolute address, or a prefix that ends in `/*`.' }),
        {
          maxItems: listMax,
          description: 'Addresses that a login may return to, in addition to the addresses of the realm template.',
        },
      ),
    ),
    webOrigins: Type.Optional(
      Type.Array(
        Type.String({
          minLength: 1,
          maxLength: 300,
          description: 'Origin, such as `https://app.example.com`; `*`: all.',
        }),
        {
          maxItems: listMax,
          description:
            'Origins of web pages that may call the platform (CORS), in addition to the origins of the realm template.',
        },
      ),
    ),
    pkceRequired: Type.Optional(
      Type.Boolean({
        description: 'True when logins need PKCE. The value false is for older applications. Default: true.',
      }),
    ),
  },
  { title: 'ClientChange', description: 'Settings of a client that the tenant registers itself.' },
)
export type ClientChange = Static<typeof ClientChange>

export const changeClient = {
  name: 'clients.patch',
  summary: 'Change the addresses and origins of a client',
  description:
    'Replaces the lists that are given. Addresses and origins of the realm template stay. A caller that adds an address, or permits logins ' +
    'without PKCE, must hold the permissions of all roles, because the owner of the address can get the tokens of any user.',
  params: byId('client'),
  body: ClientChange,
  response: { 200: Client },
  fails: {
    400: 'An address or an origin is not valid.',
    403: 'The caller does not hold `identity:client:update`, or a permission of a role of the tenant.',
    404: 'The tenant has no client with this id, or the caller may not read it.',
  },
}
export const listClients = {
  name: 'clients.list',
  summary: 'List clients',
  query: Page,
  response: { 200: contentPage(Client) },
}
export const changeSecret = {
  name: 'clients.secret.rotate',
  summary: 'Create a new secret for a client',
  description:
    'The old secret stays valid for an hour, also after further changes: the 20 newest old secrets are kept. ' +
    'The caller must hold all permissions that the client holds.',
  params: byId('client'),
  response: {
    200: Type.Object(
      { secret: Type.String({ description: 'The new secret. Only this response shows it.' }) },
      { title: 'ClientSecret', description: 'The new secret of a client.' },
    ),
  },
  fails: {
    403: 'The caller does not hold `identity:client:update`, or a permission that the client holds.',
    404: 'The tenant has no client with this id, the client is public and has no secret, or the caller may not read it.',
  },
}
