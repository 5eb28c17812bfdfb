import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, Name, type Static, Text, Type } from '../../../kernel/schema.ts'
import { ById, Scopes, SubjectName } from '../shapes.ts'

export const subjectTypes = ['user', 'role', 'client', 'api-key'] as const
export type SubjectType = (typeof subjectTypes)[number]

const Subject = Type.Object(
  { type: Type.Enum([...subjectTypes]), id: Name({ maxLength: 300 }) },
  { title: 'GrantSubject' },
)
/** `platform-system`, `tenant-system`, `application-<name>`, `endpoint-<id>`, … */
const ResourceName = () => Type.String({ maxLength: 400, pattern: '^[a-z][a-z0-9]*-[^\\p{Cc}]+$' })

export const Grant = Type.Object(
  {
    id: Type.String(),
    subject: SubjectName,
    resource: Type.String(),
    scopes: Type.Array(Type.String()),
    createdAt: DateTime(),
  },
  { title: 'Grant' },
)
export type Grant = Static<typeof Grant>

export const NewGrant = Type.Object(
  {
    subject: Subject,
    resource: ResourceName(),
    scopes: Scopes({ minItems: 1 }),
  },
  { title: 'NewGrant' },
)
export type NewGrant = Static<typeof NewGrant>

export const listGrants = {
  name: 'grants.list',
  summary: 'List grants',
  query: Type.Object({
    ...offsetQuery(100),
    subjectType: Type.Optional(Type.Enum([...subjectTypes])),
    subjectId: Type.Optional(Text({ maxLength: 300 })),
    resource: Type.Optional(Text({ maxLength: 400 })),
  }),
  response: { 200: contentPage(Grant) },
}
export const createGrant = {
  name: 'grants.create',
  summary: 'Grant scopes on a resource to a user, role, client or API key',
  body: NewGrant,
  response: { 201: Grant },
}
export const deleteGrant = {
  name: 'grants.delete',
  summary: 'Take a grant back',
  params: ById,
  response: { 204: Empty() },
}
