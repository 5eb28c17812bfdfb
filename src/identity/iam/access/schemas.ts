import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { describedAs, type Static, TextList, Type } from '../../../kernel/schema.ts'
import { scopePattern } from '../../scopes.ts'
import { byId, SubjectName } from '../shapes.ts'

const Reason = Type.Object(
  {
    role: Type.Optional(
      Type.String({
        description:
          'Role that has the scope, or to which the grant was made. Omitted if the grant was made to the subject itself.',
      }),
    ),
    grantId: Type.Optional(Type.String({ description: 'Id of the grant. Omitted if the role itself has the scope.' })),
    resource: Type.String({
      description: 'Resource on which the scope is held: the given resource, or a resource that contains it.',
    }),
    scope: Type.String({ description: 'The scope that the role or grant has; `*` is every scope.' }),
    byCreation: Type.Optional(
      Type.Boolean({ description: 'True when the subject has the grant because it created the resource.' }),
    ),
  },
  { title: 'Reason', description: 'A role or grant that gives a scope.' },
)
export type Reason = Static<typeof Reason>

const reasons = Type.Array(Reason, {
  description: 'All roles and grants that give the scope; each role or grant is sufficient.',
})

const resource = Type.Optional(
  TextList({
    description:
      'The resource, after the resources that contain it, separated by commas: `application-a,endpoint-1`. Permissions on any of these resources count, and permissions on the tenant. Default: `tenant-system`, the tenant itself.',
  }),
)

const Holder = Type.Object(
  {
    subject: describedAs(SubjectName, 'The user, client or API key.'),
    name: Type.String({ description: 'Username, id of the client, or name of the API key.' }),
    owner: Type.Optional(describedAs(SubjectName, 'The owner of an API key, whose permissions the key has.')),
    reasons,
  },
  { title: 'Holder', description: 'A user, client or API key that has a scope, with the reasons.' },
)
export type Holder = Static<typeof Holder>

export const listHolders = {
  name: 'access.list',
  summary: 'List who may do something on a resource, and why',
  description:
    'Lists enabled users, clients and API keys with the scope on the resource: users first, in the order of names. Users of other ' +
    'issuers are listed only if they have a grant, because their roles are in their tokens. Administrators of the platform may do everything ' +
    'and are listed in tenant `platform` only.',
  query: Type.Object({
    ...offsetQuery(100, { all: false, maximum: 1000 }),
    scope: Type.String({ minLength: 1, maxLength: 128, pattern: scopePattern, description: 'Scope to look for.' }),
    resource,
  }),
  response: { 200: contentPage(Holder) },
}

const ScopeOfUser = Type.Object(
  {
    scope: Type.String({ description: 'Name of the scope. `*` is also listed as each scope that it includes.' }),
    reasons,
  },
  { title: 'ScopeOfUser', description: 'A scope that a user has on a resource, with the reasons.' },
)
export type ScopeOfUser = Static<typeof ScopeOfUser>

export const explainUser = {
  name: 'users.access.get',
  summary: 'Get what a user may do on a resource, and why',
  params: byId('user'),
  query: Type.Object({ resource }),
  response: {
    200: Type.Object(
      {
        enabled: Type.Boolean({ description: 'True when the user is enabled. A disabled user may do nothing.' }),
        content: Type.Array(ScopeOfUser, { description: 'The scopes, in the order of names.' }),
      },
      { title: 'AccessOfUser', description: 'The permissions of a user on a resource.' },
    ),
  },
  fails: {
    403: 'The caller may read the user, but lacks `identity:role:read` or `identity:grant:read`.',
    404: 'The tenant has no user with this id, or the caller may not read it.',
  },
}
