import { defineError } from '../../kernel/errors.ts'

export const LinkInvalid = defineError(
  'link_invalid',
  404,
  'The link is wrong or has expired, or its creator has lost the permission for it; create another link',
)
export const LinkedNotFound = defineError<{ problem: string }>('linked_resource_not_found', 404, '{problem}')
export const LinkedForbidden = defineError<{ problem: string }>('linked_resource_forbidden', 403, '{problem}')
export const LinkedNotReady = defineError<{ problem: string }>('linked_resource_not_ready', 409, '{problem}')
export const LinkCreatorWithoutAccount = defineError(
  'link_creator_without_account',
  403,
  'A link acts with the permissions of its creator, and this caller has no account on the platform: log in with a user, client or API key',
)
