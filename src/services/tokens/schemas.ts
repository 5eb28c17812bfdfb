import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { DateTime, Empty, Name, TextList, Type } from '../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from './contract.ts'
import { targetStatuses, tokenStatuses } from './states.ts'

const Status = Type.Enum([...tokenStatuses], {
  description:
    'Inactive: valid and never used; the first successful use makes it Active. Active: valid and in use. ' +
    'Suspended: rejected until it is Active again. Revoked: rejected for ever.',
})
const createdDate = DateTime({ description: 'Time at which the token was created, in UTC.' })
const applicationName = Name({ description: 'Name of the application that the endpoint belongs to.' })

const described = {
  status: Status,
  createdDate,
  applicationName,
  updatedDate: Type.Optional(
    DateTime({ description: 'Time of the last change of the status, in UTC. Omitted if the status never changed.' }),
  ),
}
const Token = Type.Object(described, {
  title: 'EndpointToken',
  description: 'A token of an endpoint, without the secret text.',
})
const ListedToken = Type.Object(
  {
    endpointTokenId: Name({ description: 'Id of the token; it is not the token itself.' }),
    ...described,
  },
  { title: 'ListedEndpointToken', description: 'A token of an endpoint in a list, without the secret text.' },
)
// Only this response contains the secret text.
const ProvisionedToken = Type.Object(
  {
    token: Type.String({ description: 'The token that the device sends. Only this response shows it.' }),
    createdDate,
    applicationName,
    status: Type.Literal('Inactive', { description: 'Always Inactive: the token was not used yet.' }),
  },
  { title: 'ProvisionedEndpointToken', description: 'A new token with its secret text.' },
)

const endpointId = Name({ description: 'Id of the endpoint.' })
const ofEndpoint = Type.Object({ endpointId })
const ofToken = Type.Object({
  endpointId,
  endpointTokenId: Name({ description: 'Id of the token, from the list or from `Location` of its creation.' }),
})
const noEndpoint = 'The endpoint does not exist, or the caller may not read it or lacks the scope for this operation.'
const noToken =
  'The endpoint or the token does not exist, or the caller may not read it or lacks the scope for this operation.'

export const listTokens = {
  name: 'tokens.list',
  summary: 'List the tokens of an endpoint',
  description: 'The list has ids and statuses. The token itself is shown only when it is created.',
  params: ofEndpoint,
  query: Type.Object({
    status: Type.Optional(
      TextList({ description: `Only tokens with one of these statuses: ${tokenStatuses.join(', ')}. Default: all.` }),
    ),
    ...offsetQuery(20),
    order: Type.Enum(['ASC', 'DESC'], {
      default: 'DESC',
      description: 'Order by `createdDate`. ASC: oldest first. DESC: newest first. Default: DESC.',
    }),
  }),
  response: { 200: contentPage(ListedToken), 304: Empty() },
  fails: { 404: noEndpoint },
}
export const provisionToken = {
  name: 'tokens.create',
  summary: 'Create another token for an endpoint',
  description: 'The last part of `Location` is the id of the token. The token itself is shown only in this response.',
  params: ofEndpoint,
  body: Type.Object(
    {
      applicationName,
      token: Type.Optional(
        Name({
          pattern: tokenPattern,
          maxLength: tokenLengthMax,
          description:
            'The token: any characters but `+`, `#`, `/` and `.`; unique within the application. Default: 10 random letters and digits.',
        }),
      ),
    },
    {
      title: 'NewEndpointToken',
      description: 'A token to create.',
      examples: [{ applicationName: 'greenhouse' }],
    },
  ),
  response: { 201: ProvisionedToken },
  fails: {
    400: 'A field is missing or malformed, or `applicationName` is not the application of the endpoint.',
    404: noEndpoint,
    409: 'The application already has this token, or the endpoint has as many tokens as it may have.',
  },
}
export const readToken = {
  name: 'tokens.get',
  summary: 'Get a token of an endpoint',
  params: ofToken,
  response: { 200: Token, 304: Empty() },
  fails: { 404: noToken },
}
export const deleteToken = {
  name: 'tokens.delete',
  summary: 'Delete a token of an endpoint',
  description: 'Within a second the token is rejected, and a connection that represents no other endpoint is closed.',
  params: ofToken,
  response: { 204: Empty() },
  fails: { 404: noToken },
}
export const readStatus = {
  name: 'tokens.status.get',
  summary: 'Get the status of a token',
  params: ofToken,
  response: {
    200: Type.Object({ status: Status }, { title: 'EndpointTokenStatus', description: 'The status of a token.' }),
    304: Empty(),
  },
  fails: { 404: noToken },
}
export const setStatus = {
  name: 'tokens.status.update',
  summary: 'Suspend, resume or revoke a token',
  description:
    'Allowed transitions: Active to Suspended, Suspended to Active, and any status to Revoked, which is final. Setting the ' +
    'status that the token already has changes nothing. A suspended or revoked token is rejected within a second.',
  params: ofToken,
  body: Type.Object(
    {
      status: Type.Enum([...targetStatuses], {
        description: 'The new status: Active resumes a suspended token, Suspended pauses it, Revoked ends it for ever.',
      }),
    },
    {
      title: 'EndpointTokenStatusChange',
      description: 'The status that a token gets.',
      examples: [{ status: 'Revoked' }],
    },
  ),
  response: { 204: Empty() },
  fails: { 404: noToken, 409: 'The token cannot go from its present status to this status.' },
}
