import { DateTime, describedAs, Empty, ifMatchFails, JsonObject, type Static, Type } from '../../../kernel/schema.ts'
import { byId, roleNames, SubjectName, scopeNames } from '../shapes.ts'

export const readMe = {
  name: 'me.get',
  summary: 'Get the caller with its permissions',
  description: 'Returns the user, client or API key to which the presented access token or API key belongs.',
  response: {
    200: Type.Object(
      {
        tenantId: Type.String({ description: 'Id of the tenant of the caller.' }),
        subject: describedAs(SubjectName, 'The user, client or API key that calls.'),
        username: Type.Optional(Type.String({ description: 'Username, if the caller is a user.' })),
        roles: roleNames('Roles of the caller.'),
        permissions: Type.Array(
          Type.Object(
            {
              resource: Type.String({ description: 'Resource, such as `tenant-system` or `endpoint-<id>`.' }),
              scopes: scopeNames('Scopes that are held on the resource and everything below it.'),
            },
            { title: 'Permission', description: 'Scopes on a resource.' },
          ),
          { description: 'Everything that the caller may do.' },
        ),
      },
      { title: 'Me', description: 'The caller with its permissions.' },
    ),
  },
}

export const changeOwnPassword = {
  name: 'me.password.update',
  summary: 'Change the password of the calling user',
  description:
    'Ends all logins of the user, also the login of the caller. A wrong present password counts as a failed login. ' +
    'The page `/auth/realms/{tenant_id}/account` does the same for a browser.',
  body: Type.Object(
    {
      presentPassword: Type.String({ minLength: 1, maxLength: 1024, description: 'Present password.' }),
      newPassword: Type.String({
        minLength: 8,
        maxLength: 256,
        description:
          'New password: at most 256 characters, at least 8 or as many as `WAYPOST_PASSWORD_LENGTH` requires. It must not be a common password and must not contain the username.',
      }),
    },
    { title: 'OwnPasswordChange', description: 'The present and the new password of the caller.' },
  ),
  response: { 204: Empty() },
  fails: {
    400: 'The new password breaks the rule for passwords.',
    403: 'The caller is not a user, or the present password is wrong.',
    404: 'The caller is a user of an external issuer, whose password the platform does not know.',
    429: 'Wrong passwords have locked the account at this address. `Retry-After` holds the seconds to wait.',
  },
}

const OwnFactor = Type.Object(
  {
    kind: Type.Enum(['totp', 'webauthn'], { description: 'totp: an authenticator app. webauthn: a security key.' }),
    name: Type.String({ description: 'Name that the user sees.' }),
    createdAt: DateTime({ description: 'Time at which the user added the second factor, in UTC.' }),
    lastUsedAt: Type.Optional(
      DateTime({ description: 'Time of the last use of the second factor, in UTC. Omitted if it was never used.' }),
    ),
  },
  { title: 'OwnSecondFactor', description: 'A second factor of the caller. Secrets are never shown.' },
)

export const Profile = Type.Object(
  {
    tenantId: Type.String({ description: 'Id of the tenant of the caller.' }),
    tenantName: Type.String({ description: 'Name of the tenant for people, or the id of a tenant without a name.' }),
    subject: describedAs(SubjectName, 'The user, client or API key that calls.'),
    username: Type.Optional(Type.String({ description: 'Username, if the caller is a user or belongs to a user.' })),
    email: Type.Optional(Type.String({ description: 'E-mail address of the user, if it is known.' })),
    firstName: Type.Optional(Type.String({ description: 'First name of the user, if it is known.' })),
    lastName: Type.Optional(Type.String({ description: 'Last name of the user, if it is known.' })),
    roles: roleNames('Roles of the caller.'),
    secondFactor: Type.Optional(
      Type.Object(
        {
          rule: Type.Enum(['off', 'optional', 'required'], {
            description:
              'Rule of the tenant for second factors of its users. off: logins need a password only. optional: the user decides. required: every user needs a second factor.',
          }),
          factors: Type.Array(OwnFactor, { description: 'The factors of the user, the oldest first.' }),
          recoveryCodes: Type.Integer({ description: 'Number of recovery codes that are left.' }),
        },
        {
          title: 'SecondFactorState',
          description:
            'The second factors of the calling user. Absent for clients, API keys and users of other issuers.',
        },
      ),
    ),
    scopes: Type.Array(
      Type.Object(
        {
          scope: Type.String({ description: 'Name of the scope.' }),
          on: Type.Enum(['platform', 'tenant', 'resources'], {
            description:
              'platform: on all tenants. tenant: on everything of the own tenant. resources: on single resources only; ' +
              '`permissions` of `GET /me` names these resources.',
          }),
        },
        { title: 'EffectiveScope', description: 'A scope that the caller has, and where.' },
      ),
      {
        description:
          'Every scope that the caller has on at least one resource, in the order of names. `*` is listed as the scopes that it includes.',
      },
    ),
  },
  { title: 'Profile', description: 'The caller as a person: names, tenant, second factors and effective scopes.' },
)
export type Profile = Static<typeof Profile>

export const readProfile = {
  name: 'me.profile.get',
  summary: 'Get names, tenant, second factors and effective scopes of the caller',
  response: { 200: Profile },
}

const Session = Type.Object(
  {
    id: Type.String({ description: 'Id of the session: the claim `sid` of the tokens of the session.' }),
    current: Type.Boolean({ description: 'True when the access token of this request belongs to this session.' }),
    clientId: Type.Optional(Type.String({ description: 'Client that the user signed in to.' })),
    address: Type.Optional(Type.String({ description: 'Address from which the user signed in, if it is known.' })),
    userAgent: Type.Optional(
      Type.String({ description: 'Program with which the user signed in: the header `User-Agent`.' }),
    ),
    startedAt: Type.Optional(DateTime({ description: 'Time at which the user signed in, in UTC.' })),
    lastUsedAt: Type.Optional(DateTime({ description: 'Time at which the session last got tokens, in UTC.' })),
    expiresAt: DateTime({
      description: 'Time at which the session ends if the user does not sign out earlier, in UTC.',
    }),
  },
  { title: 'Session', description: 'A login of the calling user.' },
)
export type Session = Static<typeof Session>

const usersOnly = 'The caller is not a user.'

export const listSessions = {
  name: 'me.sessions.list',
  summary: 'List the sessions of the calling user',
  description: 'Sessions that can still be used, the last used first, at most 1,000.',
  response: {
    200: Type.Object(
      { content: Type.Array(Session, { description: 'The sessions.' }) },
      { title: 'Sessions', description: 'The sessions of a user.' },
    ),
  },
  fails: { 403: usersOnly },
}
export const endSession = {
  name: 'me.sessions.delete',
  summary: 'End a session of the calling user',
  description:
    'The tokens of the session end within a second. Other sessions of the same browser end too, because the browser could renew these tokens without a password.',
  params: byId('session'),
  response: { 204: Empty() },
  fails: { 403: usersOnly, 404: 'The user has no session with this id.' },
}
export const endOtherSessions = {
  name: 'me.otherSessions.delete',
  summary: 'End all sessions of the calling user except the present session',
  description: 'The session of the access token of this request stays, and so do other sessions of the same browser.',
  response: { 204: Empty() },
  fails: { 403: usersOnly },
}

const View = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, description: 'Name that the user gave the view.' }),
    page: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Page that the view belongs to, such as `endpoints`.',
    }),
    query: Type.String({ maxLength: 4000, description: 'Query of the address of the page: search, filter, order.' }),
  },
  { title: 'SavedView', description: 'A search, filter and order of a list under a name.' },
)
export const Preferences = Type.Object(
  {
    zone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Time zone such as `Europe/Berlin`. Default: the time zone of the device.',
      }),
    ),
    language: Type.Optional(
      Type.String({
        maxLength: 35,
        pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
        description: 'Language such as `en` or `de-AT`. Default: the language of the browser.',
      }),
    ),
    theme: Type.Optional(
      Type.Enum(['system', 'light', 'dark'], { description: 'Colour scheme of the console. Default: system.' }),
    ),
    columns: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Array(Type.String({ maxLength: 200, description: 'Name of a column.' }), { maxItems: 100 }),
        {
          description: 'Columns of lists in order, by the name of the list. Default: the default columns of each list.',
        },
      ),
    ),
    views: Type.Optional(Type.Array(View, { maxItems: 200, description: 'Saved views. Default: none.' })),
    other: Type.Optional(
      JsonObject({ description: 'Settings of other programs, under names of their own. Default: none.' }),
    ),
  },
  { title: 'Preferences', description: 'Preferences of a user, at most 64 KiB.' },
)
export type Preferences = Static<typeof Preferences>

export const preferencesBytesMax = 64 * 1024

export const readPreferences = {
  name: 'me.preferences.get',
  summary: 'Get the preferences of the calling user',
  description:
    'The preferences are empty until the user sets preferences. The response has an `ETag`; `If-None-Match` is supported.',
  response: { 200: Preferences, 304: Empty() },
  fails: { 403: usersOnly },
}
export const updatePreferences = {
  name: 'me.preferences.update',
  summary: 'Replace the preferences of the calling user',
  body: Preferences,
  response: { 200: Preferences },
  fails: { 403: usersOnly, 413: 'The preferences have more than 64 KiB.', ...ifMatchFails },
}
