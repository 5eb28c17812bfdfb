import { type Static, Type } from '../../../kernel/schema.ts'
import { roleNames } from '../shapes.ts'

const Scope = Type.Object(
  {
    scope: Type.String({ description: 'Name of the scope.' }),
    sentence: Type.String({ description: 'A sentence that says what the scope permits.' }),
    level: Type.Enum(['platform', 'tenant', 'resource'], {
      description:
        'Resource on which the scope must be held. `platform`: on the platform. `tenant`: on the tenant. `resource`: on the resource, on a resource that contains it, or on the tenant.',
    }),
    builtInRoles: roleNames('Built-in roles that have the scope, besides platform-admin, which has all scopes.'),
    operations: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the operation, such as `endpoints.list`.' }),
          summary: Type.String({ description: 'Summary of the operation.' }),
        },
        { title: 'PermittedOperation', description: 'An operation that requires the scope.' },
      ),
      { description: 'The operations that require the scope, in the order of names.' },
    ),
  },
  { title: 'Scope', description: 'A scope with its meaning.' },
)
export type Scope = Static<typeof Scope>

export const listScopes = {
  name: 'scopes.list',
  summary: 'List all scopes in words, with the operations that they permit',
  description: 'The list is the same for all tenants. It is sorted by name.',
  response: {
    200: Type.Object(
      { content: Type.Array(Scope, { description: 'All scopes.' }) },
      { title: 'Scopes', description: 'All scopes of the platform.' },
    ),
  },
}
