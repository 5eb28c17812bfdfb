import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, Type } from '../../../kernel/schema.ts'
import * as common from './common.ts'

const ConnectionState = (description: string) => Type.Enum(['CONNECTED', 'DISCONNECTED'], { description })

const fields = {
  id: common.id('application integration'),
  appName: Name({ description: 'Name of the application of the platform.' }),
  ...common.connectionFields,
  poolIds: common.poolIds,
  status: common.Status('SUSPENDED: no session with the network is open; uplinks are dropped, and commands wait.'),
  netConnectionState: ConnectionState(
    'State of the MQTT session with the network: CONNECTED if any node has a session.',
  ),
  netConnectionError: Type.Optional(
    Type.String({ description: 'Reason why there is no session; absent if there is no problem.' }),
  ),
  platformConnectionState: ConnectionState('DISCONNECTED while the tenant is not AVAILABLE.'),
  platformConnectionError: Type.Optional(Type.String({ description: 'Reason why the tenant cannot communicate.' })),
}
const AppIntegration = Type.Object(fields, {
  title: 'AppIntegration',
  description: 'Links an application of the platform with an application of a LoRaWAN network.',
})
const DeviceOfIntegration = Type.Object(
  {
    id: common.id('device integration'),
    appVersionName: Name({ description: 'Application version of the endpoint.' }),
    netDeviceId: Name({ description: 'Id of the device in the network.' }),
    endpointId: common.endpointId,
    name: common.nameField,
    description: Type.Optional(common.descriptionField),
    status: common.Status('SUSPENDED: the platform drops uplinks of the device, and commands wait.'),
  },
  { title: 'DeviceOfIntegration', description: 'A device integration in the answer of its application integration.' },
)
const WithDevices = Type.Object(
  {
    ...fields,
    devices: Type.Array(DeviceOfIntegration, { description: 'All device integrations, ordered by id.' }),
  },
  { title: 'AppIntegrationWithDevices', description: 'An application integration with its devices.' },
)

const params = Type.Object({ appIntegrationId: common.pathId('application integration') })
const missing = 'The integration does not exist, or the caller may not read it.'
const etagText =
  'The ETag changes with the configured fields and the list of devices, not with connection states and statistics.'

export const createAppIntegration = {
  name: 'appIntegrations.create',
  summary: 'Create an application integration',
  description:
    'Connects the application with an application of a LoRaWAN network. A node opens the MQTT session right away; the answer does not wait for it.',
  body: Type.Object(
    { appName: fields.appName, ...common.newConnectionFields },
    { title: 'NewAppIntegration', description: 'An application integration to create.' },
  ),
  response: { 201: AppIntegration },
  fails: {
    400: 'A field is malformed, the application does not exist or is not readable, the platform may not call a host (such as a private address), or the MQTT URL is missing.',
    409: 'The application already has an integration, or `netUsername` has one with this identity server in the tenant.',
  },
}
export const listAppIntegrations = {
  name: 'appIntegrations.list',
  summary: 'List application integrations',
  description: 'Returns the integrations that the caller may read, ordered by id.',
  query: Type.Object({
    appName: Type.Optional(Name({ description: 'Only the integration of this application.' })),
    status: common.statusQuery,
    ...offsetQuery(0),
  }),
  response: { 200: contentPage(AppIntegration) },
}
export const getAppIntegration = {
  name: 'appIntegrations.get',
  summary: 'Get an application integration',
  description: etagText,
  params,
  response: { 200: WithDevices, 304: Empty() },
  fails: { 404: missing },
}
export const patchAppIntegration = {
  name: 'appIntegrations.patch',
  summary: 'Change an application integration',
  description: 'A new API key is used immediately: the session is opened again.',
  params,
  body: common.integrationPatch('AppIntegrationPatch'),
  response: { 200: AppIntegration },
  fails: { 404: missing, ...ifMatchFails },
}
export const deleteAppIntegration = {
  name: 'appIntegrations.delete',
  summary: 'Delete an application integration',
  params,
  response: { 204: Empty() },
  fails: { 404: missing, 409: 'The integration has device integrations. Nothing was changed.', ...ifMatchFails },
}
export const updateAppIntegrationStatus = {
  name: 'appIntegrations.status.update',
  summary: 'Suspend or resume an application integration',
  description:
    'SUSPENDED closes the session: uplinks that arrive meanwhile are dropped, and commands wait. ACTIVE opens the session again.',
  params,
  body: common.statusBody,
  response: { 204: Empty() },
  fails: { 404: missing },
}
const NetDevice = Type.Object(
  {
    netDeviceId: Type.String({ description: 'Id of the device in the network.' }),
    name: Type.Optional(Type.String({ description: 'Name of the device in the network.' })),
    devEui: Type.Optional(Type.String({ description: 'DevEUI of the device, 16 hexadecimal digits.' })),
  },
  { title: 'NetDevice', description: 'A device of the network that has no device integration.' },
)
export const listNetDevices = {
  name: 'appIntegrations.netDevices.list',
  summary: 'List devices of the network that are not mapped',
  description:
    'Asks the network for the devices of its application, and leaves out devices that have a device integration.',
  params,
  response: { 200: contentPage(NetDevice) },
  fails: {
    404: missing,
    502: 'The network did not answer within 10 s, refused the key, or sent a response that the platform cannot use.',
  },
}
