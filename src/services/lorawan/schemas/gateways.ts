import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, Type } from '../../../kernel/schema.ts'
import * as common from './common.ts'
import { itemsMax } from './devices.ts'

const netGatewayId = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]*$',
  maxLength: 255,
  description: 'Id of the gateway in the network: lower-case letters, digits and dashes. It cannot be changed.',
})

const infoFields = {
  netGatewayEui: Type.String({
    pattern: '^[0-9A-Fa-f]{16}$',
    description: 'EUI of the gateway: 16 hexadecimal digits.',
  }),
  netGatewayName: Type.Optional(
    Name({ description: 'Name in the network. Default: `name` of the gateway integration.' }),
  ),
  frequencyPlanId: Name({ description: 'Frequency plan, such as `EU_863_870_TTN`.' }),
  gatewayServerAddress: Name({ description: 'Address of the gateway server of the network.' }),
}
const statusPublic = Type.Boolean({
  description: 'True when the network shows the status to everybody. Default: false.',
})
const locationPublic = Type.Boolean({
  description: 'True when the network shows the location to everybody. Default: false.',
})
const enforceDutyCycle = Type.Boolean({
  description: 'True when the network does not exceed the permitted duty cycle. Default: true.',
})
const scheduleAnytimeDelay = Type.Unsafe<number>({
  type: 'number',
  minimum: 0,
  maximum: 3600,
  description: 'Seconds between two class C downlinks. Default: 0.53.',
})
const NewGatewayInfo = Type.Object(
  {
    ...infoFields,
    statusPublic: Type.Optional(statusPublic),
    locationPublic: Type.Optional(locationPublic),
    enforceDutyCycle: Type.Optional(enforceDutyCycle),
    scheduleAnytimeDelay: Type.Optional(scheduleAnytimeDelay),
  },
  { title: 'NewNetGatewayInfo', description: 'The gateway as the network registers it.' },
)
const GatewayInfo = Type.Object(
  { ...infoFields, statusPublic, locationPublic, enforceDutyCycle, scheduleAnytimeDelay },
  { title: 'NetGatewayInfo', description: 'The gateway as the network registers it.' },
)

const GatewayIntegration = Type.Object(
  {
    id: common.id('gateway integration'),
    appVersionName: Name({ description: 'Application version of the endpoint.' }),
    netGatewayId,
    endpointId: common.endpointId,
    name: common.nameField,
    description: Type.Optional(common.descriptionField),
    ...common.endpointFields,
    netGatewayInfo: Type.Optional(GatewayInfo),
    poolIds: common.poolIds,
    status: common.Status('Status of the gateway integration.'),
  },
  { title: 'GatewayIntegration', description: 'Links a gateway of the network with an endpoint.' },
)
const NewGateway = Type.Object(
  {
    netGatewayId,
    name: common.nameField,
    description: Type.Optional(common.descriptionField),
    ...common.endpointFields,
    netGatewayInfo: Type.Optional(NewGatewayInfo),
  },
  { title: 'NewGatewayIntegration', description: 'A gateway to link.' },
)

const ofAccount = Type.Object({ accountIntegrationId: common.pathId('account integration') })
const params = Type.Object({
  accountIntegrationId: common.pathId('account integration'),
  gatewayIntegrationId: common.pathId('gateway integration'),
})
const missing = 'The integration or the gateway integration does not exist, or the caller may not read it.'

export const createGateways = {
  name: 'accountIntegrations.gateways.create',
  summary: 'Create gateway integrations',
  description:
    'Registers an endpoint for each gateway. With `registerGatewaysOnNet`, the gateway is first registered in the network. A gateway that is already registered, or that the network refuses, is listed in `failed`, and the other gateways are created. If the body is malformed, the whole request is rejected.',
  params: ofAccount,
  body: Type.Object(
    {
      appVersionName: common.appVersionName,
      registerGatewaysOnNet: Type.Optional(
        Type.Boolean({
          description:
            'True when the gateways are registered in the network; each gateway then needs `netGatewayInfo`. Default: false.',
        }),
      ),
      gateways: Type.Array(NewGateway, { minItems: 1, maxItems: itemsMax, description: 'The gateways, 1 to 1,000.' }),
      poolIds: Type.Optional(common.poolIds),
    },
    { title: 'NewGatewayIntegrations', description: 'Gateways to link.' },
  ),
  response: {
    201: Type.Object(
      {
        createdCount: Type.Integer({ description: 'Number of gateway integrations that were created.' }),
        failedCount: Type.Integer({ description: 'Number of gateways that failed.' }),
        created: Type.Array(GatewayIntegration, { description: 'The new gateway integrations.' }),
        failed: Type.Array(
          Type.Object(
            {
              netGatewayId: Type.String({ description: 'Id of the gateway in the network.' }),
              reason: Type.Optional(Type.String({ description: 'Reason why the registration of the gateway failed.' })),
            },
            { title: 'FailedGateway', description: 'A gateway that could not be linked.' },
          ),
          { description: 'The gateways that failed.' },
        ),
      },
      { title: 'CreatedGatewayIntegrations', description: 'The outcome for each gateway.' },
    ),
  },
  fails: {
    400: 'A field is malformed or missing, or the version does not exist or is not readable.',
    404: 'The integration, or an endpoint in a relation, does not exist or is not readable.',
  },
}
export const listGateways = {
  name: 'accountIntegrations.gateways.list',
  summary: 'List gateway integrations',
  description: 'Returns the gateway integrations that the caller may read, ordered by id.',
  params: ofAccount,
  query: Type.Object({
    status: common.statusQuery,
    netGatewayId: Type.Optional(Name({ description: 'Only the gateway with this id in the network.' })),
    name: Type.Optional(Name({ description: 'Part of the name; case is ignored.' })),
    appVersionName: Type.Optional(Name({ description: 'Only gateways of this application version.' })),
    ...offsetQuery(100),
  }),
  response: { 200: contentPage(GatewayIntegration) },
  fails: { 404: 'The integration does not exist, or the caller may not read it.' },
}
export const getGateway = {
  name: 'accountIntegrations.gateways.get',
  summary: 'Get a gateway integration',
  params,
  response: { 200: GatewayIntegration, 304: Empty() },
  fails: { 404: missing },
}
export const patchGateway = {
  name: 'accountIntegrations.gateways.patch',
  summary: 'Change a gateway integration',
  params,
  body: Type.Object(
    { name: Type.Optional(common.nameField), description: Type.Optional(common.descriptionField) },
    { title: 'GatewayIntegrationPatch', description: 'The fields to change; all other fields keep their values.' },
  ),
  response: { 200: GatewayIntegration },
  fails: { 404: missing, ...ifMatchFails },
}
export const deleteGateway = {
  name: 'accountIntegrations.gateways.delete',
  summary: 'Delete a gateway integration',
  description:
    'The endpoint stays registered with its data, and the gateway stays registered in the network, unless a parameter requests its deletion.',
  params,
  query: Type.Object({
    deleteEndpoint: Type.Optional(
      Type.Boolean({
        description: 'True when the endpoint is unregistered too, which requires `endpoint:delete`. Default: false.',
      }),
    ),
    deregisterOnNet: Type.Optional(
      Type.Boolean({ description: 'True when the gateway is first deleted in the network. Default: false.' }),
    ),
  }),
  response: { 204: Empty() },
  fails: { 404: missing, ...ifMatchFails, 502: 'The network did not delete the gateway. Nothing was changed.' },
}
export const updateGatewayStatus = {
  name: 'accountIntegrations.gateways.status.update',
  summary: 'Suspend or resume a gateway integration',
  params,
  body: common.statusBody,
  response: { 204: Empty() },
  fails: { 404: missing },
}
