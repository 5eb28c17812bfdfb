import { defineError } from '../../kernel/errors.ts'

export const UsernameTaken = defineError<{ username: string }>(
  'username_taken',
  409,
  'There is another user with the name {username}',
)
export const LastAdministrator = defineError<{ role: string }>(
  'last_administrator',
  409,
  'This is the last enabled user with the role {role}: nobody could undo it',
)
export const RoleTaken = defineError<{ name: string }>('role_taken', 409, 'There is a role with the name {name}')
export const BuiltInRole = defineError<{ name: string }>(
  'built_in_role',
  409,
  'The role {name} is built in and cannot be changed',
)
export const IssuerTaken = defineError<{ issuer: string }>(
  'issuer_taken',
  409,
  'The issuer {issuer} is registered in this tenant already',
)
export const NoKeysForExternalUsers = defineError(
  'no_keys_for_external_users',
  403,
  'API keys belong to users and clients of this realm, and the caller is of another provider',
)
export const NoSecret = defineError<{ id: string }>('no_secret', 404, 'Client {id} is public and has no secret')
