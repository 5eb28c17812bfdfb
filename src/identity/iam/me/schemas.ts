import { describedAs, Empty, Type } from '../../../kernel/schema.ts'
import { roleNames, SubjectName, scopeNames } from '../shapes.ts'

export const readMe = {
  name: 'me.get',
  summary: 'Get the caller with its permissions',
  description: 'Says who the presented access token or API key belongs to.',
  response: {
    200: Type.Object(
      {
        tenantId: Type.String({ description: 'Id of the tenant of the caller.' }),
        subject: describedAs(SubjectName, 'The user, client or API key that calls.'),
        username: Type.Optional(Type.String({ description: 'Username, if the caller is a user.' })),
        roles: roleNames('Roles of the caller.'),
        permissions: Type.Array(
          Type.Object(
            {
              resource: Type.String({ description: 'Resource, such as `tenant-system` or `endpoint-<id>`.' }),
              scopes: scopeNames('Scopes that are held on the resource and everything below it.'),
            },
            { title: 'Permission', description: 'Scopes on a resource.' },
          ),
          { description: 'Everything that the caller may do.' },
        ),
      },
      { title: 'Me', description: 'The caller with its permissions.' },
    ),
  },
}

export const changeOwnPassword = {
  name: 'me.password.update',
  summary: 'Change the password of the calling user',
  description:
    'Ends all logins of the user, also the one of the caller. A wrong present password counts as a failed login. ' +
    'The page `/auth/realms/{tenant_id}/account` does the same for a browser.',
  body: Type.Object(
    {
      presentPassword: Type.String({ minLength: 1, maxLength: 1024, description: 'The password until now.' }),
      newPassword: Type.String({
        minLength: 8,
        maxLength: 256,
        description:
          'New password: 8 to 256 characters or more (`WAYPOST_PASSWORD_LENGTH`), not a common one, without the username.',
      }),
    },
    { title: 'OwnPasswordChange', description: 'The present and the new password of the caller.' },
  ),
  response: { 204: Empty() },
  fails: {
    400: 'The new password breaks the rule for passwords.',
    403: 'The caller is not a user, or the present password is wrong.',
    404: 'The caller is a user of an external issuer and has no password here.',
    429: 'Wrong passwords have locked the account at this address. `Retry-After` holds the seconds to wait.',
  },
}
