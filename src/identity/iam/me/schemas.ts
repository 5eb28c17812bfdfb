import { describedAs, Type } from '../../../kernel/schema.ts'
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
