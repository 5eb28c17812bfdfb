import { contentPage } from '../../../kernel/paging.ts'
import { Empty, type Static, Text, Type } from '../../../kernel/schema.ts'
import { Page, RoleName, Scopes } from '../shapes.ts'

export const Role = Type.Object(
  {
    name: Type.String(),
    description: Type.Optional(Type.String()),
    scopes: Type.Array(Type.String()),
    builtIn: Type.Boolean(),
  },
  { title: 'Role' },
)
export type Role = Static<typeof Role>

const ByName = Type.Object({ name: Type.String({ maxLength: 2048 }) })
const description = Type.Optional(Text({ maxLength: 1000 }))

export const listRoles = {
  name: 'roles.list',
  summary: 'List roles',
  query: Page,
  response: { 200: contentPage(Role) },
}
export const createRole = {
  name: 'roles.create',
  summary: 'Create a role',
  description:
    'Scopes are held on tenant-system; those that start with `platform:` on platform-system, in realm platform only.',
  body: Type.Object({ name: RoleName(), description, scopes: Scopes() }, { title: 'NewRole' }),
  response: { 201: Role },
  fails: [409],
}
export const readRole = { name: 'roles.get', summary: 'Get a role', params: ByName, response: { 200: Role } }
export const updateRole = {
  name: 'roles.update',
  summary: 'Replace the description and the scopes of a role',
  params: ByName,
  body: Type.Object({ description, scopes: Scopes() }, { title: 'RoleChange' }),
  response: { 204: Empty() },
  fails: [409],
}
export const deleteRole = {
  name: 'roles.delete',
  summary: 'Delete a role, take it from all who have it, and delete the grants to it',
  params: ByName,
  response: { 204: Empty() },
  fails: [409],
}
