import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { DateTime, Empty, Name, TextList, Type } from '../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from './contract.ts'
import { targetStatuses, tokenStatuses } from './states.ts'

const Status = Type.Enum([...tokenStatuses])

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
  { token: Type.String(), createdDate: DateTime(), applicationName: Name(), status: Type.Literal('Inactive') },
  { title: 'ProvisionedEndpointToken' },
)

const ofEndpoint = Type.Object({ endpointId: Name() })
const ofToken = Type.Object({ endpointId: Name(), endpointTokenId: Name() })

export const listTokens = {
  params: ofEndpoint,
  query: Type.Object({
    status: Type.Optional(TextList({ description: `One or several of ${tokenStatuses.join(', ')}` })),
    ...offsetQuery(20),
    order: Type.Enum(['ASC', 'DESC'], { default: 'DESC', description: 'By createdDate; DESC: the newest first' }),
  }),
  response: { 200: contentPage(ListedToken), 304: Empty() },
}
export const provisionToken = {
  params: ofEndpoint,
  body: Type.Object({
    applicationName: Name({ description: 'The application of the endpoint' }),
    token: Type.Optional(
      Name({
        pattern: tokenPattern,
        maxLength: tokenLengthMax,
        description: 'Unique within the application; generated when absent',
      }),
    ),
  }),
  response: { 201: ProvisionedToken },
  fails: [409],
}
export const readToken = { params: ofToken, response: { 200: Token, 304: Empty() } }
export const deleteToken = { params: ofToken, response: { 204: Empty() } }
export const readStatus = {
  params: ofToken,
  response: { 200: Type.Object({ status: Status }, { title: 'EndpointTokenStatus' }), 304: Empty() },
}
export const setStatus = {
  params: ofToken,
  body: Type.Object({ status: Type.Enum([...targetStatuses]) }),
  response: { 204: Empty() },
  fails: [409],
}
