/** What the API reference shows of the realms: the protocol itself is described by its standards. */
import type { Face } from '../../kernel/faces.ts'
import type { Operation } from '../../kernel/http/routes.ts'
import { JsonObject, Text, Type } from '../../kernel/schema.ts'

/** RFC 6749, 5.2. */
export const oauthFace: Face = {
  name: 'oauth',
  body: (error) => ({ error: error.code, error_description: error.message }),
  schema: Type.Object({ error: Type.String(), error_description: Type.String() }, { title: 'OAuthError' }),
}

const params = Type.Object({ tenant_id: Text({ description: 'The tenant, which is the name of the realm' }) })
const optional = (description: string) => Type.Optional(Text({ description, maxLength: 8192 }))
const failure = oauthFace.schema

const tokenForm = Type.Object(
  {
    grant_type: Type.Enum(['client_credentials', 'password', 'refresh_token', 'authorization_code']),
    client_id: optional('The client, unless HTTP Basic names it'),
    client_secret: optional('Of the backend client, unless HTTP Basic carries it'),
    username: optional('For grant password'),
    password: optional('For grant password'),
    refresh_token: optional('For grant refresh_token'),
    code: optional('For grant authorization_code'),
    redirect_uri: optional('For grant authorization_code'),
    code_verifier: optional('For grant authorization_code: PKCE, method S256'),
    scope: optional('openid adds an id_token'),
  },
  { title: 'TokenForm', description: 'What the grant needs' },
)
const tokens = Type.Object(
  {
    access_token: Type.String({ description: 'A JWT for Authorization: Bearer' }),
    expires_in: Type.Integer(),
    refresh_token: Type.Optional(Type.String()),
    refresh_expires_in: Type.Integer(),
    token_type: Type.String(),
    scope: Type.String(),
    id_token: Type.Optional(Type.String()),
  },
  { title: 'Tokens' },
)
const tokenParameter = Type.Object(
  { token: Text({ maxLength: 8192 }), token_type_hint: optional('Which kind it is') },
  { title: 'TokenParameter' },
)

type Row = Pick<Operation, 'method' | 'path' | 'schema'>
const connect = '/:tenant_id/protocol/openid-connect'

const rows: Row[] = [
  {
    method: 'POST',
    path: `${connect}/token`,
    schema: {
      name: 'openid.tokens.create',
      summary: 'Get tokens',
      params,
      body: tokenForm,
      bodyType: 'application/x-www-form-urlencoded',
      response: { 200: tokens, 400: failure, 401: failure, 404: failure, 429: failure },
    },
  },
  {
    method: 'GET',
    path: '/:tenant_id/.well-known/openid-configuration',
    schema: {
      name: 'openid.configuration.get',
      summary: 'Discover the realm',
      params,
      response: { 200: JsonObject({ title: 'OpenIdConfiguration' }), 401: failure, 404: failure },
    },
  },
  {
    method: 'GET',
    path: `${connect}/certs`,
    schema: {
      name: 'openid.keys.get',
      summary: 'Get the public keys',
      params,
      response: { 200: JsonObject({ title: 'JsonWebKeySet' }), 401: failure, 404: failure },
    },
  },
  {
    method: 'GET',
    path: `${connect}/auth`,
    schema: {
      name: 'openid.authorize',
      summary: 'Sign in with a browser',
      params,
      query: Type.Object({
        client_id: Text(),
        response_type: Type.Enum(['code']),
        redirect_uri: Text({ maxLength: 2048 }),
        scope: optional('openid profile email'),
        state: optional('Comes back unchanged'),
        nonce: optional('Comes back in the id_token'),
        code_challenge: Text(),
        code_challenge_method: Type.Enum(['S256']),
        response_mode: Type.Optional(Type.Enum(['query', 'fragment', 'form_post'])),
      }),
      response: { 303: Type.Null({ description: 'To the sign-in page, or back to the application' }), 400: failure },
    },
  },
  {
    method: 'GET',
    path: `${connect}/userinfo`,
    schema: {
      name: 'openid.userinfo.get',
      summary: 'Get the claims of the user',
      params,
      response: { 200: JsonObject({ title: 'UserInfo' }), 401: failure },
    },
  },
  {
    method: 'GET',
    path: `${connect}/logout`,
    schema: {
      name: 'openid.logout',
      summary: 'Sign out with a browser',
      params,
      query: Type.Object({
        id_token_hint: optional('Whose login ends; without it a page asks'),
        post_logout_redirect_uri: optional('Where to go afterwards'),
        state: optional('Comes back unchanged'),
      }),
      response: { 302: Type.Null({ description: 'Signed out' }), 400: failure },
    },
  },
  {
    method: 'POST',
    path: `${connect}/revoke`,
    schema: {
      name: 'openid.tokens.revoke',
      summary: 'Revoke a token',
      params,
      body: tokenParameter,
      bodyType: 'application/x-www-form-urlencoded',
      response: { 200: Type.Null(), 400: failure },
    },
  },
  {
    method: 'POST',
    path: `${connect}/token/introspect`,
    schema: {
      name: 'openid.tokens.introspect',
      summary: 'Introspect a token',
      params,
      body: tokenParameter,
      bodyType: 'application/x-www-form-urlencoded',
      response: { 200: JsonObject({ title: 'TokenIntrospection' }), 400: failure, 401: failure },
    },
  },
]

export const realmOperations: Operation[] = rows.map((row) => ({
  ...row,
  door: 'identity',
  root: '/auth/realms',
  access: { scope: 'none' },
  face: oauthFace,
}))
