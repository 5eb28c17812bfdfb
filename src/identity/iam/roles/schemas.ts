import { contentPage } from '../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, type Static, Text, Type } from '../../../kernel/schema.ts'
import { Page, RoleName, Scopes, scopeNames } from '../shapes.ts'

export const Role = Type.Object(
  {
    name: Type.String({ description: 'Name of the role.' }),
    description: Type.Optional(Type.String({ description: 'Free text.' })),
    scopes: scopeNames('Scopes that the role holds on the whole tenant.'),
    builtIn: Type.Boolean({ description: 'True when the role belongs to the platform and cannot be changed.' }),
    createdAt: DateTime({ description: 'Time at which the role was created, in UTC.' }),
  },
  { title: 'Role', description: 'A role: scopes that users and clients can be given together.' },
)
export type Role = Static<typeof Role>

const ByName = Type.Object({ name: Type.String({ maxLength: 2048, description: 'Name of the role.' }) })
const description = Type.Optional(Text({ maxLength: 1000, description: 'Free text. Default: none.' }))
const scopes = Scopes('Scopes that the role holds on the whole tenant.')
const noRole = 'The tenant has no role with this name, or the caller may not read it.'

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
    'The scopes are held on tenant-system. Scopes that start with `platform:` are held on platform-system, and only roles of ' +
    'tenant `platform` can have these scopes. A caller can give a role only scopes that the caller holds.',
  body: Type.Object({ name: RoleName(), description, scopes }, { title: 'NewRole', description: 'A role to create.' }),
  response: { 201: Role },
  fails: { 409: 'The tenant already has a role with this name.' },
}
export const readRole = {
  name: 'roles.get',
  summary: 'Get a role',
  params: ByName,
  response: { 200: Role, 304: Empty() },
  fails: { 404: noRole },
}
export const updateRole = {
  name: 'roles.update',
  summary: 'Replace the description and the scopes of a role',
  params: ByName,
  body: Type.Object(
    { description, scopes },
    { title: 'RoleChange', description: 'The new description and scopes of a role.' },
  ),
  response: { 204: Empty() },
  fails: { 404: noRole, 409: 'The role is built in and cannot be changed.', ...ifMatchFails },
}
export const deleteRole = {
  name: 'roles.delete',
  summary: 'Delete a role',
  description: 'Users and clients lose the role, and the grants to it are deleted.',
  params: ByName,
  response: { 204: Empty() },
  fails: { 404: noRole, 409: 'The role is built in and cannot be deleted.', ...ifMatchFails },
}
