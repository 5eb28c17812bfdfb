import { numberedQuery } from '../../kernel/paging.ts'
import { Bytes, DateTime, Empty, Name, type Static, Text, TextList, Type } from '../../kernel/schema.ts'
import { sshKeyLength } from './ssh-key.ts'

// ── fields

const name = Name({
  maxLength: 64,
  pattern: '^[a-zA-Z0-9_-]+$',
  description:
    'Name of the client: 1 to 64 letters, digits, `_` and `-`. The name need not be unique. The file of the profile has this name.',
})
const type = Type.Enum(['admin', 'device'], {
  description:
    'admin: reaches the devices of the tenant. device: reaches the platform, and answers administrators of the tenant.',
})
const protocol = Type.Enum(['tcp', 'udp'], {
  description: 'Transport protocol by which the client connects to the server. Default: udp.',
})
const username = Type.String({
  maxLength: 32,
  pattern: '^([A-Za-z_][A-Za-z0-9_.-]{0,31})?$',
  description:
    'User name on the gateway: a letter or `_`, then up to 31 letters, digits, `_`, `.` and `-`. An empty text removes the user name.',
})
const sshKey = Name({
  maxLength: sshKeyLength,
  description:
    'Public key of OpenSSH in one line: ed25519, ecdsa, sk-* or rsa of at least 2048 bits, with an optional comment.',
})
const description = Text({
  maxLength: 1000,
  description: 'Description for people: up to 1000 characters. An empty text removes the description.',
})
/** Accepts texts that are longer than any id. The response is then 404, as for an unknown id. */
const vpnclientID = Type.String({ minLength: 1, maxLength: 4000, description: 'Id of the VPN client, a UUID.' })

// ── resources

export const VpnClient = Type.Object(
  {
    id: Type.String({ description: 'Id of the client, a UUID; the common name of its certificate.' }),
    name: Type.String({ description: 'Name of the client; not unique.' }),
    endpointId: Type.Optional(
      Type.String({
        description:
          'Endpoint that the client belongs to. Omitted for a client without an endpoint, and after the endpoint was unregistered.',
      }),
    ),
    application: Type.Optional(
      Type.String({ description: 'Application of the endpoint. Omitted for a client without an endpoint.' }),
    ),
    description: Type.String({ description: 'Description for people; may be empty.' }),
    state: Type.Enum(['active', 'revoked'], {
      description: 'active: the client can connect. revoked: its certificate is on the revocation list, for ever.',
    }),
    type,
    ipAddress: Type.String({
      description:
        'Fixed IPv4 address in the VPN. The address of a revoked client is free again and may be given to another client.',
    }),
    subnet: Type.String({ description: 'Range of addresses of the clients of this type in the tenant, in CIDR.' }),
    username: Type.Optional(Type.String({ description: 'User name on the gateway. Omitted if no user name is set.' })),
    sshKey: Type.Boolean({ description: 'True when a public key for SSH is stored.' }),
    protocol,
    created: DateTime({ description: 'Time at which the client was created, in UTC.' }),
    lastConnected: Type.Optional(
      DateTime({
        description:
          'Time at which the client was last connected to the VPN, in UTC; exact to the minute while the client is connected. Omitted if it was never connected.',
      }),
    ),
  },
  {
    title: 'VpnClient',
    description: 'A VPN client.',
    examples: [
      {
        id: '0b9f4f0e-0c2f-4c5e-9c41-6f7f0f6f3a55',
        name: 'pump-7',
        description: '',
        state: 'active',
        type: 'device',
        ipAddress: '10.80.0.2',
        subnet: '10.80.0.0/20',
        sshKey: false,
        protocol: 'udp',
        created: '2026-03-01T12:00:00.000Z',
      },
    ],
  },
)
export type VpnClient = Static<typeof VpnClient>

const WrappedClient = Type.Object(
  { data: VpnClient },
  { title: 'WrappedVpnClient', description: 'A VPN client in the field `data`.' },
)

const ClientPage = Type.Object(
  {
    data: Type.Array(VpnClient, { description: 'The clients of this page, the newest first.' }),
    count: Type.Integer({ description: 'Number of all matching clients that the caller may read, on all pages.' }),
    page: Type.Integer({ description: 'Number of this page, counted from 1.' }),
    pageSize: Type.Integer({ description: 'Maximum number of clients on a page.' }),
    server: Type.Object(
      {
        running: Type.Boolean({ description: 'True when clients can connect now.' }),
        problem: Type.Optional(
          Type.String({ description: 'Explains why the server cannot run. Omitted if there is no problem.' }),
        ),
      },
      { title: 'VpnServerState', description: 'State of the VPN server of the platform.' },
    ),
  },
  { title: 'VpnClientPage', description: 'One page of VPN clients, with the state of the server.' },
)

// ── operations

const ofClient = Type.Object({ vpnclientID })
const none = { 204: Empty() }
const missing = { 404: 'There is no VPN client with this id, or the caller may not read it.' }
const changeFails = {
  400: 'The value is not valid, the body has an unknown field, or the client is revoked.',
  ...missing,
}

/** Unknown fields are rejected (document 3, 1.21; document 5, 1.1). */
const noOtherFields = { additionalProperties: false }

export const createClient = {
  name: 'vpnClients.create',
  summary: 'Create a VPN client with its certificate and address',
  description:
    'The client gets a certificate of the tenant and a fixed address. Its profile, with the private key, is the file of `…/config`.',
  body: Type.Object(
    {
      name,
      type,
      endpointId: Type.Optional(Name({ description: 'Endpoint that the client belongs to. Default: none.' })),
      description: Type.Optional(description),
      username: Type.Optional(username),
      sshKey: Type.Optional(sshKey),
      protocol: Type.Optional(protocol),
    },
    {
      ...noOtherFields,
      title: 'NewVpnClient',
      description: 'A VPN client to create.',
      examples: [{ name: 'pump-7', type: 'device' }],
    },
  ),
  response: { 201: WrappedClient },
  fails: {
    400: 'A field is not valid or not known, or there is no such endpoint.',
    409: 'All addresses for clients of this type are in use, or the VPN has no range left for the tenant.',
  },
}

export const listClients = {
  name: 'vpnClients.list',
  summary: 'List VPN clients, the newest first',
  query: Type.Object({
    ids: Type.Optional(
      TextList({ description: 'Only these clients: ids, separated by commas or repeated. Default: all.' }),
    ),
    name: Type.Optional(Text({ description: 'Only clients with exactly this name. Default: all.' })),
    endpointId: Type.Optional(Text({ description: 'Only clients of this endpoint. Default: all.' })),
    state: Type.Optional(
      Type.Enum(['active', 'revoked'], { description: 'Only clients in this state. Default: all.' }),
    ),
    ipAddress: Type.Optional(
      Text({ maxLength: 64, description: 'Only clients with exactly this IP address. Default: all.' }),
    ),
    ...numberedQuery(),
  }),
  response: { 200: ClientPage },
}

export const getClient = {
  name: 'vpnClients.get',
  summary: 'Get a VPN client',
  params: ofClient,
  response: { 200: WrappedClient },
  fails: missing,
}

export const deleteClient = {
  name: 'vpnClients.delete',
  summary: 'Revoke a VPN client, or delete the record of a revoked VPN client',
  description:
    'An active client is revoked: its certificate is added to the revocation list, its connection ends within 10 seconds, and its address ' +
    'becomes free. Deleting a revoked client removes its record.',
  params: ofClient,
  response: none,
  fails: missing,
}

export const getProfile = {
  name: 'vpnClients.config.download',
  summary: 'Download the OpenVPN profile of a client',
  description:
    'The file is complete: it contains certificates and keys. Every download has the same content. Keep the file secret.',
  params: ofClient,
  response: { 200: Bytes({ description: 'The profile, `<name>.ovpn`.' }) },
  fails: { 404: 'There is no VPN client with this id, the client is revoked, or the caller may not read the client.' },
}

const bodyOf = <P extends Parameters<typeof Type.Object>[0]>(properties: P, title: string, example: object) =>
  Type.Object(properties, { ...noOtherFields, title, description: 'The new value.', examples: [example] })

export const setSshKey = {
  name: 'vpnClients.sshKey.update',
  summary: 'Set the public key for SSH of a VPN client',
  params: ofClient,
  body: bodyOf({ sshKey }, 'VpnClientSshKey', {
    sshKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk0Zk7ZNc8m4o0sI7nJtK7zB8V0d2cX9qJv3m1y5w6R admin@example.org',
  }),
  response: none,
  fails: changeFails,
}

export const setUsername = {
  name: 'vpnClients.username.update',
  summary: 'Set or clear the user name of a VPN client',
  params: ofClient,
  body: bodyOf({ username }, 'VpnClientUsername', { username: 'root' }),
  response: none,
  fails: changeFails,
}

export const setDescription = {
  name: 'vpnClients.description.update',
  summary: 'Set or clear the description of a VPN client',
  params: ofClient,
  body: bodyOf({ description }, 'VpnClientDescription', { description: 'Pump in hall 2' }),
  response: none,
  fails: changeFails,
}
