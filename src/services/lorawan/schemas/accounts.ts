import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Empty, ifMatchFails, Type } from '../../../kernel/schema.ts'
import * as common from './common.ts'

const AccountIntegration = Type.Object(
  {
    id: common.id('account integration'),
    ...common.connectionFields,
    poolIds: common.poolIds,
    status: common.Status('SUSPENDED: no gateway can be created with it.'),
  },
  {
    title: 'AccountIntegration',
    description:
      'Links the tenant with a user of a LoRaWAN network, who owns gateways. The platform stores the MQTT fields but does not use them.',
  },
)
const params = Type.Object({ accountIntegrationId: common.pathId('account integration') })
const missing = 'The integration does not exist, or the caller may not read it.'

export const createAccount = {
  name: 'accountIntegrations.create',
  summary: 'Create an account integration',
  body: Type.Object(common.newConnectionFields, {
    title: 'NewAccountIntegration',
    description: 'An account integration to create.',
  }),
  response: { 201: AccountIntegration },
  fails: {
    400: 'A field is malformed, the platform may not call a host (such as a private address), or MQTT is enabled explicitly and its URL is missing.',
    409: '`netUsername` already has an account integration with this identity server in the tenant.',
  },
}
export const listAccounts = {
  name: 'accountIntegrations.list',
  summary: 'List account integrations',
  description: 'Returns the integrations that the caller may read, ordered by id.',
  query: Type.Object({ status: common.statusQuery, ...offsetQuery(0) }),
  response: { 200: contentPage(AccountIntegration) },
}
export const getAccount = {
  name: 'accountIntegrations.get',
  summary: 'Get an account integration',
  params,
  response: { 200: AccountIntegration, 304: Empty() },
  fails: { 404: missing },
}
export const patchAccount = {
  name: 'accountIntegrations.patch',
  summary: 'Change an account integration',
  params,
  body: common.integrationPatch('AccountIntegrationPatch'),
  response: { 200: AccountIntegration },
  fails: { 404: missing, ...ifMatchFails },
}
export const deleteAccount = {
  name: 'accountIntegrations.delete',
  summary: 'Delete an account integration',
  params,
  response: { 204: Empty() },
  fails: { 404: missing, 409: 'The integration has gateway integrations. Nothing was changed.', ...ifMatchFails },
}
export const updateAccountStatus = {
  name: 'accountIntegrations.status.update',
  summary: 'Suspend or resume an account integration',
  params,
  body: common.statusBody,
  response: { 204: Empty() },
  fails: { 404: missing },
}
