import { Type } from '../kernel/schema.ts'

const Address = Type.Object(
  {
    transport: Type.Enum(['mqtt', 'mqtts', 'websocket', 'http'], {
      description: 'mqtt: MQTT over TCP. mqtts: MQTT over TLS. websocket: MQTT over WebSocket. http: POST requests.',
    }),
    url: Type.String({
      description: 'Public address. Over HTTP, the path of a message is added: `/kp1/<version>/<extension>/<token>/…`.',
    }),
    required: Type.Array(Type.Enum(['basic', 'x509']), {
      description:
        'Client credentials that the tenant requires: a user name with password (basic), a certificate (x509). HTTP has ' +
        'neither, so that a requirement turns it off for the devices of the tenant.',
    }),
  },
  { title: 'DeviceAddress', description: 'An address for devices.' },
)

export const listAddresses = {
  name: 'devices.addresses.list',
  summary: 'List the addresses that devices connect to',
  description:
    'The host is that of the public address of the platform, and the ports are those of its listeners, unless ' +
    '`WAYPOST_MQTT_URL` or `WAYPOST_MQTTS_URL` name others.',
  response: {
    200: Type.Object(
      { content: Type.Array(Address, { description: 'One address for each transport.' }) },
      { title: 'DeviceAddresses', description: 'The addresses for devices of the tenant of the caller.' },
    ),
  },
}
