import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { Empty, ifMatchFails, Name, Type } from '../../../kernel/schema.ts'
import * as common from './common.ts'

export const netDeviceIdPattern = '^[a-z0-9][a-z0-9-]{0,63}$'
export const itemsMax = 1000

const netDeviceId = Type.String({
  pattern: netDeviceIdPattern,
  maxLength: 64,
  description: 'Id of the device in the network: lower-case letters, digits and dashes. It cannot be changed.',
})
const radioFields = {
  formatter: Type.String({
    maxLength: 65_000,
    description:
      'Payload formatter: JavaScript with `decodeUplink({bytes, fPort, recvTime})`, `encodeDownlink({data})` or both. An empty text removes the formatter.',
  }),
  downlinkFPort: Type.Integer({
    minimum: 1,
    maximum: 223,
    description: 'Port of downlinks, if the encoder gives none. Default: 1.',
  }),
  downlinkConfirmed: Type.Boolean({ description: 'True when the device must confirm downlinks. Default: false.' }),
}
const optionalRadioFields = {
  formatter: Type.Optional(radioFields.formatter),
  downlinkFPort: Type.Optional(radioFields.downlinkFPort),
  downlinkConfirmed: Type.Optional(radioFields.downlinkConfirmed),
}

const count = (description: string) => Type.Integer({ description })
const Statistics = Type.Object(
  {
    received: count('Number of all uplinks that arrived.'),
    stored: count('Number of uplinks that became samples.'),
    duplicates: count(
      'Number of uplinks with the same session and frame counter as another uplink within the hour before.',
    ),
    dropped: count(
      'Number of uplinks without a usable payload, or that arrived while the device integration was suspended.',
    ),
  },
  {
    title: 'UplinkStatistics',
    description: 'Numbers of uplinks since the device integration was created; written every second.',
  },
)

const DeviceIntegration = Type.Object(
  {
    id: common.id('device integration'),
    appVersionName: Name({ description: 'Application version of the endpoint.' }),
    netDeviceId,
    endpointId: common.endpointId,
    name: common.nameField,
    description: Type.Optional(common.descriptionField),
    ...common.endpointFields,
    poolIds: common.poolIds,
    formatter: Type.Optional(radioFields.formatter),
    downlinkFPort: radioFields.downlinkFPort,
    downlinkConfirmed: radioFields.downlinkConfirmed,
    status: common.Status('SUSPENDED: the platform drops uplinks of the device, and commands wait.'),
    lastUplinkAt: Type.Optional(
      common.date({ description: 'Time at which the network received the last uplink of the device, in UTC.' }),
    ),
    lastError: Type.Optional(
      Type.String({ description: 'Reason why the last uplink was dropped or the last downlink failed.' }),
    ),
    lastErrorAt: Type.Optional(common.date({ description: 'Time of the error in `lastError`, in UTC.' })),
    statistics: Statistics,
  },
  { title: 'DeviceIntegration', description: 'Links a device of the network with an endpoint.' },
)

const ofIntegration = Type.Object({ appIntegrationId: common.pathId('application integration') })
const params = Type.Object({
  appIntegrationId: common.pathId('application integration'),
  deviceIntegrationId: common.pathId('device integration'),
})
const missing = 'The integration or the device integration does not exist, or the caller may not read it.'

const NewDevice = Type.Object(
  {
    netDeviceId,
    name: common.nameField,
    description: Type.Optional(common.descriptionField),
    ...common.endpointFields,
    ...optionalRadioFields,
  },
  { title: 'NewDeviceIntegration', description: 'A device of the network to map.' },
)

export const createDevices = {
  name: 'appIntegrations.devices.create',
  summary: 'Create device integrations',
  description:
    'Registers an endpoint for each device. A device that is already mapped is listed in `failed`, and the other devices are created. If the body is malformed, the whole request is rejected.',
  params: ofIntegration,
  body: Type.Object(
    {
      appVersionName: common.appVersionName,
      devices: Type.Array(NewDevice, { minItems: 1, maxItems: itemsMax, description: 'The devices, 1 to 1,000.' }),
      poolIds: Type.Optional(common.poolIds),
    },
    { title: 'NewDeviceIntegrations', description: 'Devices of the network to map.' },
  ),
  response: {
    201: Type.Object(
      {
        createdCount: count('Number of device integrations that were created.'),
        failedCount: count('Number of devices that failed.'),
        created: Type.Array(DeviceIntegration, { description: 'The new device integrations.' }),
        failed: Type.Array(
          Type.Object(
            {
              netDeviceId: Type.String({ description: 'Id of the device in the network.' }),
              reason: Type.Optional(Type.String({ description: 'Reason why the registration of the device failed.' })),
            },
            { title: 'FailedDevice', description: 'A device that could not be mapped.' },
          ),
          { description: 'The devices that failed.' },
        ),
      },
      { title: 'CreatedDeviceIntegrations', description: 'The outcome for each device.' },
    ),
  },
  fails: {
    400: 'A field is malformed, a formatter does not parse, or the version belongs to another application.',
    404: 'The integration, or an endpoint in a relation, does not exist or is not readable.',
  },
}
export const listDevices = {
  name: 'appIntegrations.devices.list',
  summary: 'List device integrations',
  description: 'Returns the device integrations that the caller may read, ordered by id.',
  params: ofIntegration,
  query: Type.Object({
    status: common.statusQuery,
    appVersionName: Type.Optional(Name({ description: 'Only devices of this application version.' })),
    netDeviceId: Type.Optional(Name({ description: 'Only the device with this id in the network.' })),
    name: Type.Optional(Name({ description: 'Part of the name; case is ignored.' })),
    ...offsetQuery(100),
  }),
  response: { 200: contentPage(DeviceIntegration) },
  fails: { 404: 'The integration does not exist, or the caller may not read it.' },
}
export const getDevice = {
  name: 'appIntegrations.devices.get',
  summary: 'Get a device integration',
  description: 'The ETag changes with the configured fields, not with the statistics.',
  params,
  response: { 200: DeviceIntegration, 304: Empty() },
  fails: { 404: missing },
}
export const patchDevice = {
  name: 'appIntegrations.devices.patch',
  summary: 'Change a device integration',
  description: 'A new formatter is used from the next uplink on.',
  params,
  body: Type.Object(
    {
      name: Type.Optional(common.nameField),
      description: Type.Optional(common.descriptionField),
      ...optionalRadioFields,
    },
    { title: 'DeviceIntegrationPatch', description: 'The fields to change; all other fields keep their values.' },
  ),
  response: { 200: DeviceIntegration },
  fails: { 400: 'A field is malformed, or the formatter does not parse.', 404: missing, ...ifMatchFails },
}
export const deleteDevice = {
  name: 'appIntegrations.devices.delete',
  summary: 'Delete a device integration',
  description: 'The endpoint stays registered with its data, unless `deleteEndpoint` is true.',
  params,
  query: Type.Object({
    deleteEndpoint: Type.Optional(
      Type.Boolean({
        description: 'True when the endpoint is unregistered too, which requires `endpoint:delete`. Default: false.',
      }),
    ),
  }),
  response: { 204: Empty() },
  fails: { 404: missing, ...ifMatchFails },
}
export const updateDeviceStatus = {
  name: 'appIntegrations.devices.status.update',
  summary: 'Suspend or resume a device integration',
  description: 'SUSPENDED drops the uplinks of the device; commands wait.',
  params,
  body: common.statusBody,
  response: { 204: Empty() },
  fails: { 404: missing },
}
