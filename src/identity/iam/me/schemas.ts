import { Type } from '../../../kernel/schema.ts'
import { SubjectName } from '../shapes.ts'

export const readMe = {
  name: 'me.get',
  summary: 'Get who the caller is and what it may do',
  response: {
    200: Type.Object(
      {
        tenantId: Type.String(),
        subject: SubjectName,
        username: Type.Optional(Type.String()),
        roles: Type.Array(Type.String()),
        permissions: Type.Array(
          Type.Object({ resource: Type.String(), scopes: Type.Array(Type.String()) }, { title: 'Permission' }),
        ),
      },
      { title: 'Me' },
    ),
  },
}
