import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether credentials are missing or belong to another tenant.
export const NoCredential = defineError<{ id: string }>('no_such_credential', 404, 'The tenant has no credentials {id}')
export const NoRevocationList = defineError<{ id: string }>(
  'no_such_authority',
  404,
  'There is no certificate authority {id}',
)
export const UsernameTaken = defineError<{ username: string }>(
  'credential_username_taken',
  409,
  'Other credentials of the tenant have the username {username}; choose another username',
)
export const TransitionRejected = defineError<{ from: string; to: string; possible: string }>(
  'credential_move_refused',
  400,
  'state: the credentials are {from} and cannot become {to}: {possible}',
)
export const HashingBusy = defineError(
  'credentials_busy',
  429,
  'Too many passwords are being checked at the moment; try again in 2 s',
)
