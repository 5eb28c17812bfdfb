import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Empty, Name, type Static, Text, Type } from '../../../kernel/schema.ts'
import { ById, RoleNames, visibleText } from '../shapes.ts'

const Username = () => Name({ pattern: visibleText })
const Email = () => Type.String({ format: 'email', maxLength: 255 })
const Password = () => Type.String({ minLength: 8, maxLength: 256 })
/** null takes the value away. */
const orNull = <T extends ReturnType<typeof Type.String>>(shape: T) =>
  Type.Union([shape, Type.Null()], { description: 'a text, or null for none' })

export const User = Type.Object(
  {
    id: Type.String(),
    username: Type.String(),
    email: Type.Optional(Type.String()),
    firstName: Type.Optional(Type.String()),
    lastName: Type.Optional(Type.String()),
    enabled: Type.Boolean(),
    roles: Type.Array(Type.String()),
  },
  { title: 'User' },
)
export type User = Static<typeof User>

export const NewUser = Type.Object(
  {
    username: Username(),
    email: Type.Optional(Email()),
    firstName: Type.Optional(Text()),
    lastName: Type.Optional(Text()),
    password: Type.Optional(Password()),
    enabled: Type.Optional(Type.Boolean()),
    roles: Type.Optional(RoleNames()),
  },
  { title: 'NewUser' },
)
export type NewUser = Static<typeof NewUser>

export const UserChange = Type.Object(
  {
    username: Type.Optional(Username()),
    email: Type.Optional(orNull(Email())),
    firstName: Type.Optional(orNull(Text())),
    lastName: Type.Optional(orNull(Text())),
    password: Type.Optional(Password()),
    enabled: Type.Optional(Type.Boolean()),
    roles: Type.Optional(RoleNames()),
  },
  { title: 'UserChange' },
)
export type UserChange = Static<typeof UserChange>

export const listUsers = {
  name: 'users.list',
  summary: 'List users',
  query: Type.Object({
    ...offsetQuery(100),
    search: Type.Optional(Text({ description: 'Part of username, e-mail or a name' })),
  }),
  response: { 200: contentPage(User) },
}
export const createUser = {
  name: 'users.create',
  summary: 'Create a user',
  description: 'Without a password the user cannot log in until one is set.',
  body: NewUser,
  response: { 201: User },
  fails: [409],
}
export const readUser = { name: 'users.get', summary: 'Get a user', params: ById, response: { 200: User } }
export const updateUser = {
  name: 'users.update',
  summary: 'Change a user',
  description: 'Replaces the fields that are given, leaves the others; null takes a value away.',
  params: ById,
  body: UserChange,
  response: { 204: Empty() },
  fails: [409],
}
export const deleteUser = {
  name: 'users.delete',
  summary: 'Delete a user with its logins, grants and API keys',
  params: ById,
  response: { 204: Empty() },
  fails: [409],
}
export const setPassword = {
  name: 'users.password.update',
  summary: "Set a user's password and end the user's logins",
  params: ById,
  body: Type.Object({ password: Password() }, { title: 'NewPassword' }),
  response: { 204: Empty() },
}
export const setRoles = {
  name: 'users.roles.update',
  summary: "Replace a user's roles",
  params: ById,
  body: RoleNames(),
  response: { 204: Empty() },
  fails: [409],
}
