import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, describedAs, Empty, Name, type Static, Text, Type } from '../../../kernel/schema.ts'
import { byId, Scopes, SubjectName, scopeNames } from '../shapes.ts'

export const subjectTypes = ['user', 'role', 'client', 'api-key'] as const
export type SubjectType = (typeof subjectTypes)[number]

const Subject = Type.Object(
  {
    type: Type.Enum([...subjectTypes], { description: 'Kind of the subject: user, role, client or api-key.' }),
    id: Name({ maxLength: 300, description: 'Id of the user, client or API key, or name of the role.' }),
  },
  { title: 'GrantSubject', description: 'The user, role, client or API key that gets a grant.' },
)
/** `platform-system`, `tenant-system`, `application-<name>`, `endpoint-<id>`, … */
const resourceText =
  'Name of the resource: `tenant-system`, `platform-system`, `application-<name>`, `endpoint-<id>`, or the resource name of another object.'
const ResourceName = () =>
  Type.String({ maxLength: 400, pattern: '^[a-z][a-z0-9]*-[^\\p{Cc}]+$', description: resourceText })

export const Grant = Type.Object(
  {
    id: Type.String({ description: 'Id of the grant.' }),
    subject: describedAs(SubjectName, 'The user, role, client or API key that holds the grant.'),
    resource: Type.String({ description: resourceText }),
    scopes: scopeNames('Scopes that the subject holds on the resource and everything below it.'),
    createdAt: DateTime({ description: 'Time at which the grant was created, in UTC.' }),
  },
  { title: 'Grant', description: 'Scopes on a resource that a subject holds.' },
)
export type Grant = Static<typeof Grant>

export const NewGrant = Type.Object(
  {
    subject: describedAs(Subject, 'The user, role, client or API key that gets the grant.'),
    resource: ResourceName(),
    scopes: Scopes('Scopes to grant on the resource and everything below it.', { minItems: 1 }),
  },
  { title: 'NewGrant', description: 'A grant to create.' },
)
export type NewGrant = Static<typeof NewGrant>

export const listGrants = {
  name: 'grants.list',
  summary: 'List grants',
  query: Type.Object({
    ...offsetQuery(100),
    subjectType: Type.Optional(
      Type.Enum([...subjectTypes], { description: 'Only grants to subjects of this kind. Default: all.' }),
    ),
    subjectId: Type.Optional(
      Text({
        maxLength: 300,
        description:
          'Only grants to the user, client or API key with this id, or the role with this name. Default: all.',
      }),
    ),
    resource: Type.Optional(
      Text({ maxLength: 400, description: 'Only grants on this resource, such as `endpoint-<id>`. Default: all.' }),
    ),
  }),
  response: { 200: contentPage(Grant) },
}
export const createGrant = {
  name: 'grants.create',
  summary: 'Grant scopes on a resource to a user, role, client or API key',
  description: 'A caller can grant only scopes that the caller holds on the resource.',
  body: NewGrant,
  response: { 201: Grant },
  fails: {
    400: 'A field is missing or malformed, or the subject does not exist.',
    403: 'The caller does not hold `identity:grant:create` on tenant-system, or one of the scopes on the resource.',
    409: 'The grants to the subject, or to all roles together, would have more scopes than `WAYPOST_GRANTS_PER_SUBJECT` allows.',
  },
}
export const deleteGrant = {
  name: 'grants.delete',
  summary: 'Delete a grant',
  description: 'Takes effect within a second, for open connections too.',
  params: byId('grant'),
  response: { 204: Empty() },
  fails: { 404: 'The tenant has no grant with this id, or the caller may not read it.' },
}
