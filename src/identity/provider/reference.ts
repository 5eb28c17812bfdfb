/** Describes the OpenID Connect operations of a realm in the API reference. The standards define the protocol. */
import type { ErrorFormat } from '../../kernel/error-formats.ts'
import type { Operation } from '../../kernel/http/routes.ts'
import { describedAs, JsonObject, Text, Type } from '../../kernel/schema.ts'

/** Returns the error code of OAuth 2.0 for the status of an error. */
function nameOf(status: number): string {
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  if (status === 404) return 'not_found'
  return status >= 500 ? 'server_error' : 'invalid_request'
}

/** The error format of RFC 6749, 5.2. */
export const oauthFormat: ErrorFormat = {
  name: 'oauth',
  body: ({ status, message }) => ({ error: nameOf(status), error_description: message }),
  schema: Type.Object(
    {
      error: Type.String({ description: 'Error code of OAuth 2.0, such as `invalid_grant`.' }),
      error_description: Type.String({ description: 'Explains the error in words.' }),
    },
    { title: 'OAuthError', description: 'An error of OAuth 2.0 (RFC 6749, 5.2).' },
  ),
}

const params = Type.Object({ tenant_id: Text({ description: 'Id of the tenant, which is the name of its realm.' }) })
const optional = (description: string) => Type.Optional(Text({ description, maxLength: 8192 }))
const failure = (description: string) => describedAs(oauthFormat.schema, description)
const noRealm = failure('There is no tenant with this id.')
const notAvailable = failure('The tenant is not AVAILABLE.')
const badRequest = failure('A parameter is missing or malformed, or the client may not use it.')

const clientFields = {
  client_id: optional('Id of the client. Not needed with HTTP Basic authentication.'),
  client_secret: optional('Secret of a confidential client. Not needed with HTTP Basic authentication.'),
}

const tokenForm = Type.Object(
  {
    grant_type: Type.Enum(['client_credentials', 'password', 'refresh_token', 'authorization_code'], {
      description:
        'client_credentials: a service account. password: username and password of a user. refresh_token: a new access token. ' +
        'authorization_code: the end of a login with a browser.',
    }),
    ...clientFields,
    username: optional('Username; required with grant_type password.'),
    password: optional('Password; required with grant_type password.'),
    totp: optional('Code of the authenticator app, with grant_type password, for a user who has a second factor.'),
    refresh_token: optional('Refresh token; required with grant_type refresh_token. It can be used once.'),
    code: optional('Authorization code from the login; required with grant_type authorization_code.'),
    redirect_uri: optional('Address that the login returned to; required with grant_type authorization_code.'),
    code_verifier: optional(
      'Text whose SHA-256 was sent as `code_challenge` (PKCE); required with grant_type authorization_code.',
    ),
    scope: optional('Scopes separated by spaces; `openid` adds an ID token. Default: none.'),
  },
  {
    title: 'TokenForm',
    description: 'The parameters of a token request. The required parameters depend on `grant_type`.',
  },
)
const tokens = Type.Object(
  {
    access_token: Type.String({ description: 'Access token (JWT), for the header `Authorization: Bearer <token>`.' }),
    expires_in: Type.Integer({
      description: 'Lifetime of the access token in seconds, as configured for the realm (default: 300).',
    }),
    refresh_token: Type.Optional(
      Type.String({ description: 'Token for the next token request. Absent with grant_type client_credentials.' }),
    ),
    refresh_expires_in: Type.Integer({
      description: 'Lifetime of the refresh token in seconds; 0 if there is no refresh token.',
    }),
    token_type: Type.String({ description: 'Always `Bearer`.' }),
    scope: Type.String({ description: 'Granted scopes, separated by spaces.' }),
    id_token: Type.Optional(
      Type.String({ description: 'ID token (JWT) that says who has logged in. Only with scope `openid`.' }),
    ),
  },
  { title: 'Tokens', description: 'The tokens of a login.' },
)
const tokenParameter = Type.Object(
  {
    token: Text({ maxLength: 8192, description: 'Access token or refresh token.' }),
    token_type_hint: optional('Kind of the token: `access_token` or `refresh_token`. Default: both are tried.'),
    ...clientFields,
  },
  { title: 'TokenParameter', description: 'A token, and the client that asks about it.' },
)

type Row = Pick<Operation, 'method' | 'path' | 'schema'>
const connect = '/:tenant_id/protocol/openid-connect'

const rows: Row[] = [
  {
    method: 'POST',
    path: `${connect}/token`,
    schema: {
      name: 'openid.tokens.create',
      summary: 'Get an access token',
      description: 'Repeated wrong passwords or secrets lock the account or the address for a while (429).',
      params,
      body: tokenForm,
      bodyType: 'application/x-www-form-urlencoded',
      response: {
        200: tokens,
        400: failure(
          'A parameter is missing or malformed, or the username, password, code or refresh token is not valid.',
        ),
        401: failure('The client is unknown, its secret is wrong, or the tenant is not AVAILABLE.'),
        404: noRealm,
        429: failure('Too many wrong attempts for this account or address. `Retry-After` holds the seconds to wait.'),
      },
    },
  },
  {
    method: 'GET',
    path: '/:tenant_id',
    schema: {
      name: 'openid.realm.get',
      summary: 'Get the public key and the addresses of a realm',
      description:
        'This operation is for clients that were written for Keycloak. Other clients use `openid.configuration.get`.',
      params,
      response: {
        200: Type.Object(
          {
            realm: Type.String({ description: 'Id of the tenant.' }),
            public_key: Type.String({ description: 'Key that verifies new tokens, as Base64 of its DER encoding.' }),
            'token-service': Type.String({ description: 'Address below which the OpenID Connect endpoints are.' }),
            'account-service': Type.String({ description: 'Address of the account page.' }),
            'tokens-not-before': Type.Integer({ description: 'Always 0.' }),
          },
          { title: 'RealmInfo', description: 'A realm, as Keycloak describes it.' },
        ),
        401: notAvailable,
        404: noRealm,
      },
    },
  },
  {
    method: 'GET',
    path: '/:tenant_id/.well-known/openid-configuration',
    schema: {
      name: 'openid.configuration.get',
      summary: 'Discover the OpenID Connect endpoints of a tenant',
      params,
      response: {
        200: JsonObject({
          title: 'OpenIdConfiguration',
          description: 'Metadata of the OpenID Connect provider (OpenID Connect Discovery 1.0).',
        }),
        401: notAvailable,
        404: noRealm,
      },
    },
  },
  {
    method: 'GET',
    path: `${connect}/certs`,
    schema: {
      name: 'openid.keys.get',
      summary: 'Get the public keys that verify access tokens',
      params,
      response: {
        200: JsonObject({ title: 'JsonWebKeySet', description: 'The public keys of the tenant (RFC 7517).' }),
        401: notAvailable,
        404: noRealm,
      },
    },
  },
  {
    method: 'GET',
    path: `${connect}/auth`,
    schema: {
      name: 'openid.authorize',
      summary: 'Sign in with a browser',
      description: 'The same parameters can be sent as a form (POST).',
      params,
      query: Type.Object({
        client_id: Text({ description: 'Id of the client.' }),
        response_type: Type.Enum(['code'], { description: 'Always `code`.' }),
        redirect_uri: Text({ maxLength: 2048, description: 'Address that the browser returns to after the login.' }),
        scope: optional('Scopes separated by spaces, such as `openid profile email`. Default: none.'),
        state: optional('Text that comes back unchanged in the redirect.'),
        nonce: optional('Text that comes back in the ID token.'),
        code_challenge: Text({ description: 'SHA-256 of the `code_verifier`, base64url-encoded (PKCE).' }),
        code_challenge_method: Type.Enum(['S256'], { description: 'Always `S256`.' }),
        response_mode: Type.Optional(
          Type.Enum(['query', 'fragment', 'form_post'], {
            description:
              'Part of the response that contains the code: the query or the fragment of the redirect, or a form. Default: query.',
          }),
        ),
      }),
      response: {
        303: Type.Null({ description: 'Redirect to the login page, or back to the application.' }),
        400: badRequest,
      },
    },
  },
  {
    method: 'GET',
    path: `${connect}/userinfo`,
    schema: {
      name: 'openid.userinfo.get',
      summary: 'Get the claims of the user who owns the access token',
      params,
      response: {
        200: JsonObject({
          title: 'UserInfo',
          description: 'Claims of the user, such as `sub` and `preferred_username`.',
        }),
        401: failure('The access token is missing, invalid, expired or revoked.'),
      },
    },
  },
  {
    method: 'GET',
    path: `${connect}/logout`,
    schema: {
      name: 'openid.logout',
      summary: 'Sign out with a browser',
      description: 'The same parameters can be sent as a form (POST).',
      params,
      query: Type.Object({
        id_token_hint: optional('ID token of the login to end. Without this parameter, a page asks the user.'),
        post_logout_redirect_uri: optional(
          'Address that the browser goes to afterwards. Default: a page of the platform.',
        ),
        state: optional('Text that comes back unchanged in the redirect.'),
      }),
      response: { 302: Type.Null({ description: 'The user is logged out; redirect.' }), 400: badRequest },
    },
  },
  {
    method: 'POST',
    path: `${connect}/revoke`,
    schema: {
      name: 'openid.tokens.revoke',
      summary: 'Revoke an access token or refresh token',
      params,
      body: tokenParameter,
      bodyType: 'application/x-www-form-urlencoded',
      response: { 200: Type.Null({ description: 'The token is revoked, or was not valid.' }), 400: badRequest },
    },
  },
  {
    method: 'POST',
    path: `${connect}/token/introspect`,
    schema: {
      name: 'openid.tokens.introspect',
      summary: 'Introspect a token',
      description: 'Returns whether a token is valid, and its claims, such as its user (RFC 7662).',
      params,
      body: tokenParameter,
      bodyType: 'application/x-www-form-urlencoded',
      response: {
        200: JsonObject({
          title: 'TokenIntrospection',
          description: '`active` says whether the token is valid; the claims of a valid token are beside `active`.',
        }),
        400: badRequest,
        401: failure('The client is unknown, or its secret is wrong.'),
      },
    },
  },
]

export const realmOperations: Operation[] = rows.map((row) => ({
  ...row,
  api: 'identity',
  root: '/auth/realms',
  access: { scope: 'none' },
  errorFormat: oauthFormat,
}))
