import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { DateTime, Empty, Name, TextList, Type } from '../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from './contract.ts'
import { targetStatuses, tokenStatuses } from './states.ts'

const Status = Type.Enum([...tokenStatuses], {
  description: 'Inactive: never used; the first use makes it Active. Suspended: refused for now. Revoked: for ever',
})

const described = {
  status: Status,
  createdDate: DateTime(),
  applicationName: Name(),
  updatedDate: Type.Optional(DateTime({ description: 'When the status changed last' })),
}
const Token = Type.Object(described, { title: 'EndpointToken' })
const ListedToken = Type.Object({ endpointTokenId: Name(), ...described }, { title: 'ListedEndpointToken' })
// The one answer with the text itself.
const ProvisionedToken = Type.Object(
  {
    token: Type.String({ description: 'Shown here only' }),
    createdDate: DateTime(),
    applicationName: Name(),
    status: Type.Literal('Inactive'),
  },
  { title: 'ProvisionedEndpointToken' },
)

const endpointId = Name({ description: 'The id of an endpoint' })
const ofEndpoint = Type.Object({ endpointId })
const ofToken = Type.Object({
  endpointId,
  endpointTokenId: Name({ description: 'The id of a token, from the list or the Location of its creation' }),
})

export const listTokens = {
  name: 'tokens.list',
  summary: 'List the tokens of an endpoint',
  description: 'Their ids and states; a token itself is shown only when it is made.',
  params: ofEndpoint,
  query: Type.Object({
    status: Type.Optional(TextList({ description: `One or several of ${tokenStatuses.join(', ')}` })),
    ...offsetQuery(20),
    order: Type.Enum(['ASC', 'DESC'], { default: 'DESC', description: 'By createdDate; DESC: the newest first' }),
  }),
  response: { 200: contentPage(ListedToken), 304: Empty() },
}
export const provisionToken = {
  name: 'tokens.create',
  summary: 'Give an endpoint another token',
  description: 'The id of the token is the last part of Location.',
  params: ofEndpoint,
  body: Type.Object(
    {
      applicationName: Name({ description: 'The application of the endpoint' }),
      token: Type.Optional(
        Name({
          pattern: tokenPattern,
          maxLength: tokenLengthMax,
          description: 'Without + # / . and unique within the application; generated when absent',
        }),
      ),
    },
    { title: 'NewEndpointToken', examples: [{ applicationName: 'greenhouse' }] },
  ),
  response: { 201: ProvisionedToken },
  fails: [409],
}
export const readToken = {
  name: 'tokens.get',
  summary: 'Get a token of an endpoint',
  params: ofToken,
  response: { 200: Token, 304: Empty() },
}
export const deleteToken = {
  name: 'tokens.delete',
  summary: 'Delete a token of an endpoint',
  params: ofToken,
  response: { 204: Empty() },
}
export const readStatus = {
  name: 'tokens.status.get',
  summary: 'Get the status of a token',
  params: ofToken,
  response: { 200: Type.Object({ status: Status }, { title: 'EndpointTokenStatus' }), 304: Empty() },
}
export const setStatus = {
  name: 'tokens.status.update',
  summary: 'Suspend, resume or revoke a token',
  description:
    'Active ⇄ Suspended, and anything → Revoked, which is the end. Any other move is 409; the status that a token has is no move.',
  params: ofToken,
  body: Type.Object(
    { status: Type.Enum([...targetStatuses]) },
    { title: 'EndpointTokenStatusChange', examples: [{ status: 'Revoked' }] },
  ),
  response: { 204: Empty() },
  fails: [409],
}
