import { DateTime, Name, Type } from '../kernel/schema.ts'

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
        'neither, so a requirement turns HTTP off for the devices of the tenant.',
    }),
  },
  { title: 'DeviceAddress', description: 'An address for devices.' },
)

export const listAddresses = {
  name: 'devices.addresses.list',
  summary: 'List the addresses that devices connect to',
  description:
    'By default, the host is the host of the public address of the platform, and the ports are the ports of its listeners. ' +
    '`WAYPOST_MQTT_URL` and `WAYPOST_MQTTS_URL` set other addresses.',
  response: {
    200: Type.Object(
      { content: Type.Array(Address, { description: 'One address for each transport.' }) },
      { title: 'DeviceAddresses', description: 'The addresses for devices of the tenant of the caller.' },
    ),
  },
}

const ConnectionEvent = Type.Object(
  {
    at: DateTime({ description: 'Time at which the endpoint connected or disconnected, in UTC.' }),
    connected: Type.Boolean({ description: 'True when the endpoint connected, false when it disconnected.' }),
    reason: Type.Optional(
      Type.String({
        description:
          'Reason why the endpoint disconnected, as a text for people. Absent for a connect, or if the reason is not known.',
      }),
    ),
  },
  {
    title: 'ConnectionEvent',
    description: 'A connect or a disconnect.',
    examples: [
      {
        at: '2026-01-01T00:00:00.000Z',
        connected: false,
        reason: 'no packet arrived within 1.5 times the keep-alive',
      },
    ],
  },
)

export const listConnections = {
  name: 'endpoints.connections.list',
  summary: 'List the last connects and disconnects of an endpoint',
  description:
    'The last 50 connects and disconnects over MQTT, the newest first. Requests over HTTP are not connections; the traffic log contains the requests.',
  params: Type.Object({ endpointId: Name({ description: 'Id of the endpoint.' }) }),
  response: {
    200: Type.Object(
      { content: Type.Array(ConnectionEvent, { description: 'At most 50 events.' }) },
      { title: 'ConnectionEvents', description: 'The connection history of an endpoint.' },
    ),
  },
  fails: { 404: 'The endpoint does not exist, or the caller may not read it.' },
}
