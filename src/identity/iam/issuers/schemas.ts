import { contentPage } from '../../../kernel/paging.ts'
import { DateTime, Empty, Name, type Static, Type } from '../../../kernel/schema.ts'
import { issuerLengthMax } from '../../external-issuers.ts'
import { byId, Page } from '../shapes.ts'

export const Issuer = Type.Object(
  {
    id: Type.String({ description: 'Id of the registration.' }),
    issuer: Type.String({ description: 'Address of the issuer: the claim `iss` of its tokens.' }),
    audience: Type.Optional(
      Type.String({
        description:
          'Text that the claim `aud` of its tokens must contain. Absent for registrations of older versions, which accept no tokens.',
      }),
    ),
    rolesClaim: Type.Optional(
      Type.String({
        description: 'Path with dots to the claim with the names of roles. If it is omitted, the default applies.',
      }),
    ),
    createdAt: DateTime({ description: 'Time at which the issuer was registered, in UTC.' }),
  },
  { title: 'Issuer', description: 'An external OpenID Connect provider whose tokens the tenant accepts.' },
)
export type Issuer = Static<typeof Issuer>

export const NewIssuer = Type.Object(
  {
    issuer: Name({
      maxLength: issuerLengthMax,
      description: 'Address of the issuer: the claim `iss` of its tokens, beginning with `https://`.',
    }),
    audience: Name({
      description:
        'Text that the claim `aud` of its tokens must contain. An issuer with an audience belongs to one tenant.',
    }),
    rolesClaim: Type.Optional(
      Name({
        description:
          'Path with dots to the claim with the names of roles. Default: `realm_access.roles`, else `roles`.',
      }),
    ),
  },
  { title: 'NewIssuer', description: 'An external OpenID Connect provider to register.' },
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
  summary: 'Register an external issuer',
  description:
    'The tenant then accepts access tokens of this OpenID Connect provider. The caller must hold all permissions that the ' +
    'roles of the tenant hold.',
  body: NewIssuer,
  response: { 201: Issuer },
  fails: { 409: 'This issuer is registered with this audience already, perhaps by another tenant.' },
}
export const deleteIssuer = {
  name: 'issuers.delete',
  summary: 'Remove an external issuer',
  description: 'The access tokens of the issuer are rejected within a second.',
  params: byId('registration of the issuer'),
  response: { 204: Empty() },
  fails: { 404: 'The tenant has no issuer with this id, or the caller may not read it.' },
}
