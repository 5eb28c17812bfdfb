import { Type } from '../../../kernel/schema.ts'

export const readMe = {
  summary: 'Who the caller is and what it may do',
  response: {
    200: Type.Object(
      {
        tenantId: Type.String(),
        subject: Type.Object({ type: Type.String(), id: Type.String() }),
        username: Type.Optional(Type.String()),
        roles: Type.Array(Type.String()),
        permissions: Type.Array(Type.Object({ resource: Type.String(), scopes: Type.Array(Type.String()) })),
      },
      { title: 'Me' },
    ),
  },
}
