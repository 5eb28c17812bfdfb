import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, Name, type Static, Text, Type } from '../../../kernel/schema.ts'
import { byId, RoleNames, roleNames, visibleText } from '../shapes.ts'

const Username = () =>
  Name({
    pattern: visibleText,
    description:
      'Username: 1 to 255 characters without line breaks, invisible characters and spaces at either end; unique in the tenant, ' +
      'whatever the case of its letters.',
  })
const Email = () => Type.String({ format: 'email', maxLength: 255, description: 'E-mail address. Default: none.' })
const Password = (description: string) => Type.String({ minLength: 8, maxLength: 256, description })
/** Allows null, which removes the value. */
const orNull = <T extends ReturnType<typeof Type.String>>(shape: T, description: string) =>
  Type.Union([shape, Type.Null()], { description: `${description} null removes the value.` })

export const User = Type.Object(
  {
    id: Type.String({ description: 'Id of the user.' }),
    username: Type.String({ description: 'Username, unique in the tenant.' }),
    email: Type.Optional(Type.String({ description: 'E-mail address.' })),
    firstName: Type.Optional(Type.String({ description: 'First name.' })),
    lastName: Type.Optional(Type.String({ description: 'Last name.' })),
    enabled: Type.Boolean({ description: 'True when the user can log in.' }),
    roles: roleNames('Roles of the user.'),
  },
  { title: 'User', description: 'A user of the tenant.' },
)
export type User = Static<typeof User>

export const NewUser = Type.Object(
  {
    username: Username(),
    email: Type.Optional(Email()),
    firstName: Type.Optional(Text({ description: 'First name. Default: none.' })),
    lastName: Type.Optional(Text({ description: 'Last name. Default: none.' })),
    password: Type.Optional(
      Password('Password: 8 to 256 characters. Default: none; the user cannot log in until a password is set.'),
    ),
    enabled: Type.Optional(Type.Boolean({ description: 'True when the user can log in. Default: true.' })),
    roles: Type.Optional(RoleNames('Names of the roles of the user. Default: none.')),
  },
  { title: 'NewUser', description: 'A user to create.' },
)
export type NewUser = Static<typeof NewUser>

export const UserChange = Type.Object(
  {
    username: Type.Optional(Username()),
    email: Type.Optional(orNull(Email(), 'E-mail address.')),
    firstName: Type.Optional(orNull(Text(), 'First name.')),
    lastName: Type.Optional(orNull(Text(), 'Last name.')),
    password: Type.Optional(Password('New password: 8 to 256 characters. It ends the logins of the user.')),
    enabled: Type.Optional(
      Type.Boolean({ description: 'True when the user can log in. The value false ends the logins of the user.' }),
    ),
    roles: Type.Optional(RoleNames('Names of all roles that the user has from now on.')),
  },
  { title: 'UserChange', description: 'The fields of a user to change. Absent fields keep their values.' },
)
export type UserChange = Static<typeof UserChange>

const byUser = byId('user')
const noUser = 'The tenant has no user with this id, or the caller may not read it.'
const roleFails = 'The caller lacks the scope on tenant-system, or a permission that one of the roles holds.'
const nameTaken =
  'Another user of the tenant has this username or e-mail address, as a username or as an e-mail address.'
const lacksPermission = 'The caller lacks the scope, or a permission that the user holds.'
const lastAdministrator = 'The user is the last enabled administrator of the tenant.'

export const listUsers = {
  name: 'users.list',
  summary: 'List users',
  query: Type.Object({
    ...offsetQuery(100),
    search: Type.Optional(
      Text({ description: 'Only users with this text in the username, the e-mail address or a name. Default: all.' }),
    ),
  }),
  response: { 200: contentPage(User) },
}
export const createUser = {
  name: 'users.create',
  summary: 'Create a user',
  description: 'Without a password, the user cannot log in until a password is set.',
  body: NewUser,
  response: { 201: User },
  fails: { 403: roleFails, 409: nameTaken },
}
export const readUser = {
  name: 'users.get',
  summary: 'Get a user',
  params: byUser,
  response: { 200: User, 304: Empty() },
  fails: { 404: noUser },
}
export const updateUser = {
  name: 'users.update',
  summary: 'Change a user',
  description:
    'Changes the fields in the body; all other fields keep their values. To change the username, e-mail address, password or `enabled`, or ' +
    'to take a role away, the caller must hold all permissions that the user holds.',
  params: byUser,
  body: UserChange,
  response: { 204: Empty() },
  fails: {
    ...ifMatchFails,
    403: `${roleFails} Or the caller lacks a permission that the user holds.`,
    404: noUser,
    409: `${nameTaken} Or the change would disable the last enabled administrator.`,
  },
}
export const deleteUser = {
  name: 'users.delete',
  summary: 'Delete a user',
  description:
    'Also ends the logins of the user and deletes its grants and API keys. The caller must hold all permissions that the user holds.',
  params: byUser,
  response: { 204: Empty() },
  fails: { ...ifMatchFails, 403: lacksPermission, 404: noUser, 409: lastAdministrator },
}
export const setPassword = {
  name: 'users.password.update',
  summary: 'Set the password of a user',
  description: 'Ends the logins of the user. The caller must hold all permissions that the user holds.',
  params: byUser,
  body: Type.Object(
    { password: Password('New password: 8 to 256 characters.') },
    { title: 'NewPassword', description: 'The password that a user gets.' },
  ),
  response: { 204: Empty() },
  fails: {
    403: 'The caller does not hold `identity:user:update`, or a permission that the user holds.',
    404: noUser,
  },
}
export const setRoles = {
  name: 'users.roles.update',
  summary: 'Replace the roles of a user',
  description:
    'Takes effect within a second. The caller must hold all permissions that the new roles hold. To take a role away, the caller must hold all permissions that the user holds.',
  params: byUser,
  body: RoleNames('Names of all roles that the user has from now on.'),
  response: { 204: Empty() },
  fails: { ...ifMatchFails, 403: roleFails, 404: noUser, 409: lastAdministrator },
}

const SecondFactor = Type.Object(
  {
    id: Type.String({ description: 'Id of the factor.' }),
    kind: Type.Enum(['totp', 'webauthn'], { description: 'totp: an authenticator app. webauthn: a security key.' }),
    name: Type.String({ description: 'Name that the user sees.' }),
    createdAt: DateTime({ description: 'Time at which the user added the second factor, in UTC.' }),
    lastUsedAt: Type.Optional(
      DateTime({ description: 'Time of the last use of the second factor, in UTC. Omitted if it was never used.' }),
    ),
  },
  { title: 'SecondFactor', description: 'A second factor of a user. Secrets are never shown.' },
)
export const listSecondFactors = {
  name: 'users.secondFactors.list',
  summary: 'List the second factors of a user',
  params: byUser,
  response: {
    200: Type.Object(
      {
        content: Type.Array(SecondFactor, { description: 'The factors, the oldest first.' }),
        recoveryCodes: Type.Integer({ description: 'Number of recovery codes that are left.' }),
      },
      { title: 'SecondFactors', description: 'The second factors of a user.' },
    ),
  },
  fails: { 404: noUser },
}
export const deleteSecondFactors = {
  name: 'users.secondFactors.delete',
  summary: 'Remove all second factors of a user',
  description:
    'Use this operation if the user has lost the second factors. It also deletes the recovery codes and ends the logins of the user. The caller must hold all ' +
    'permissions that the user holds.',
  params: byUser,
  response: { 204: Empty() },
  fails: { 403: lacksPermission, 404: noUser },
}
