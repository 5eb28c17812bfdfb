import { contentPage } from '../../../kernel/paging.ts'
import { DateTime, Empty, Name, type Static, Type } from '../../../kernel/schema.ts'
import { issuerLengthMax } from '../../external-issuers.ts'
import { ById, Page } from '../shapes.ts'

export const Issuer = Type.Object(
  {
    id: Type.String(),
    issuer: Type.String(),
    audience: Type.Optional(Type.String()),
    rolesClaim: Type.Optional(Type.String()),
    createdAt: DateTime(),
  },
  { title: 'Issuer' },
)
export type Issuer = Static<typeof Issuer>

export const NewIssuer = Type.Object(
  {
    issuer: Name({ maxLength: issuerLengthMax, description: 'As the claim `iss` has it' }),
    audience: Type.Optional(
      Name({ description: 'Required in the claim `aud`; tells tenants apart that use the same issuer' }),
    ),
    rolesClaim: Type.Optional(
      Name({ description: 'Path with dots to the names of roles; default: realm_access.roles, then roles' }),
    ),
  },
  { title: 'NewIssuer' },
)
export type NewIssuer = Static<typeof NewIssuer>

export const listIssuers = {
  name: 'issuers.list',
  summary: 'List external issuers',
  query: Page,
  response: { 200: contentPage(Issuer) },
}
export const createIssuer = {
  name: 'issuers.create',
  summary: "Register another OpenID Connect provider, whose tokens are the tenant's",
  body: NewIssuer,
  response: { 201: Issuer },
  fails: [409],
}
export const deleteIssuer = {
  name: 'issuers.delete',
  summary: 'Remove an external issuer',
  params: ById,
  response: { 204: Empty() },
}
