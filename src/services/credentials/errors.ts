import { defineError } from '../../kernel/errors.ts'

// The same text for credentials that do not exist and for those of another tenant.
export const NoCredential = defineError<{ id: string }>('no_such_credential', 404, 'There are no credentials {id}')
export const NoRevocationList = defineError<{ id: string }>(
  'no_such_authority',
  404,
  'There is no certificate authority {id}',
)
export const UsernameTaken = defineError<{ username: string }>(
  'credential_username_taken',
  409,
  'Username {username} already exists',
)
export const MoveRefused = defineError<{ from: string; to: string; possible: string }>(
  'credential_move_refused',
  400,
  'state: credentials that are {from} cannot become {to}: {possible}',
)
export const HashingBusy = defineError(
  'credentials_busy',
  429,
  'Too many passwords are being checked right now, try again in 2 s',
)
