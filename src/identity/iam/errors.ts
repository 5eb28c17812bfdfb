import { defineError } from '../../kernel/errors.ts'

export const UsernameTaken = defineError<{ username: string }>(
  'username_taken',
  409,
  'Another user of the tenant has the username {username}; choose another username',
)
export const NameTaken = defineError<{ name: string }>(
  'name_taken',
  409,
  'Another user of the tenant logs in as {name}, its username or e-mail address; choose another name',
)
export const LastAdministrator = defineError<{ role: string }>(
  'last_administrator',
  409,
  'This is the last enabled user with the role {role}; give the role to another user first',
)
export const RoleTaken = defineError<{ name: string }>(
  'role_taken',
  409,
  'Role {name} already exists; choose another name',
)
export const BuiltInRole = defineError<{ name: string }>(
  'built_in_role',
  409,
  'Role {name} is built in and cannot be changed or deleted; create another role',
)
export const IssuerTaken = defineError<{ issuer: string; audience: string }>(
  'issuer_taken',
  409,
  'The issuer {issuer} is already registered with the audience {audience}',
)
export const NoKeysForExternalUsers = defineError(
  'no_keys_for_external_users',
  403,
  'Only users and clients of the tenant can own API keys; users of an external issuer and callers without a login cannot',
)
export const NoSecret = defineError<{ id: string }>('no_secret', 404, 'Client {id} is public and has no secret')
export const UsersOnly = defineError('users_only', 403, 'Only a user can do this for itself; the caller is not a user')
export const WrongPassword = defineError('wrong_password', 403, 'The present password is wrong')
export const PasswordAttemptsExceeded = defineError<{ seconds: string }>(
  'password_attempts_exceeded',
  429,
  'Too many wrong passwords; try again in {seconds} s',
)
