import { certificateSettings, defineSettings, type SettingsOf } from '../kernel/settings.ts'

export const gatewaySettings = defineSettings(
  {
    MQTT_PORT: { kind: 'port', default: '1883', meaning: 'port for MQTT; 0: any free port' },
    MQTTS_PORT: {
      kind: 'port',
      default: '8883',
      meaning: 'port for MQTT over TLS, with optional client certificates; 0: any free port',
    },
    MQTT_URL: {
      kind: 'url',
      default: undefined,
      meaning:
        'public address of MQTT, such as mqtt://devices.example.com:1883, for people who connect devices; default: the ' +
        'host of the public address of the platform with the port of the listener',
    },
    MQTTS_URL: {
      kind: 'url',
      default: undefined,
      meaning: 'public address of MQTT over TLS, such as mqtts://devices.example.com:8883; default: as for MQTT',
    },
    MQTTS_CERTIFICATE_FILE: {
      kind: 'path',
      default: undefined,
      meaning:
        'PEM file with the certificate chain for MQTT over TLS; default: the certificate authority of the platform ' +
        'issues one',
    },
    MQTTS_HOSTS: {
      kind: 'text',
      default: '',
      meaning:
        'further host names and addresses in the certificate that the platform issues for MQTT over TLS, separated by commas',
    },
    MQTTS_KEY_FILE: {
      kind: 'path',
      default: undefined,
      meaning: 'PEM file with the private key of WAYPOST_MQTTS_CERTIFICATE_FILE',
    },
    MQTT_PROXY_PROTOCOL: {
      kind: 'switch',
      default: 'off',
      meaning:
        'on: MQTT connections (TCP and TLS) of the proxies in WAYPOST_TRUST_PROXY begin with a header of the PROXY protocol, ' +
        'version 2, which has the address of the client; connections of other addresses have no header',
    },
    MQTT_CONNECT_TIMEOUT_SECONDS: {
      kind: 'integer',
      default: '10',
      range: [1, 3600],
      meaning: 'seconds within which a new connection must send CONNECT',
    },
    MQTT_CONNECTIONS_PER_ADDRESS: {
      kind: 'integer',
      default: '0',
      meaning:
        'maximum number of MQTT connections from one IPv4 address or IPv6 /64; 0: no limit, because all devices may ' +
        'come through one proxy',
    },
    MQTT_STRANGERS_PER_ADDRESS: {
      kind: 'integer',
      default: '1000',
      meaning:
        'maximum number of MQTT connections from one IPv4 address or IPv6 /64 that have presented neither credentials ' +
        'nor a valid token; a further connection closes the oldest of these connections',
    },
    MQTT_STRANGER_SECONDS: {
      kind: 'integer',
      default: '600',
      // The range is limited, because timers of Node.js overflow after 24 days.
      range: [0, 7 * 24 * 3600],
      meaning: 'seconds after which a connection without credentials and without a valid token is closed; 0: never',
    },
    MQTT_QUEUED_MESSAGES: {
      kind: 'integer',
      default: '1000',
      meaning: 'maximum number of messages queued in the session of a disconnected client',
    },
    DEVICE_MESSAGES_PER_CONNECTION: {
      kind: 'integer',
      default: '2000',
      meaning: 'messages a second from one connection; further messages are read later; 0: no limit',
    },
    DEVICE_MESSAGES_PER_TENANT: {
      kind: 'integer',
      default: '50000',
      meaning: 'messages a second from all devices of a tenant; further messages are read later; 0: no limit',
    },
    DEVICE_BYTES_PER_CONNECTION: {
      kind: 'integer',
      default: '4000000',
      meaning: 'payload bytes a second from one connection; further messages are read later; 0: no limit',
    },
    DEVICE_BYTES_PER_TENANT: {
      kind: 'integer',
      default: '50000000',
      meaning:
        'payload bytes a second from all devices of a tenant; further messages are read later, or rejected with 429 over ' +
        'HTTP; 0: no limit',
    },
  },
  (value) => ({
    mqttPort: value.MQTT_PORT,
    mqttsPort: value.MQTTS_PORT,
    mqttUrl: value.MQTT_URL,
    mqttsUrl: value.MQTTS_URL,
    ...certificateSettings(
      'MQTTS',
      { certificate: value.MQTTS_CERTIFICATE_FILE, key: value.MQTTS_KEY_FILE },
      value.MQTTS_HOSTS,
    ),
    proxyProtocol: value.MQTT_PROXY_PROTOCOL,
    connectTimeoutSeconds: value.MQTT_CONNECT_TIMEOUT_SECONDS,
    /** Maximum number of connections from one address. 0 means that only the total is limited. */
    connectionsPerAddress: value.MQTT_CONNECTIONS_PER_ADDRESS,
    /** Maximum number of connections from one address that have presented neither credentials nor a valid token. */
    anonymousPerAddress: value.MQTT_STRANGERS_PER_ADDRESS,
    /** Seconds until an anonymous connection is closed; 0 disables the time-out. */
    anonymousSeconds: value.MQTT_STRANGER_SECONDS,
    /** Rate limits per second; 0 means no limit. */
    messagesPerConnection: value.DEVICE_MESSAGES_PER_CONNECTION,
    messagesPerTenant: value.DEVICE_MESSAGES_PER_TENANT,
    bytesPerConnection: value.DEVICE_BYTES_PER_CONNECTION,
    bytesPerTenant: value.DEVICE_BYTES_PER_TENANT,
    /** Maximum number of messages in the queue of a session. */
    queuedMessagesMax: value.MQTT_QUEUED_MESSAGES,
  }),
)
export type GatewaySettings = SettingsOf<typeof gatewaySettings>
