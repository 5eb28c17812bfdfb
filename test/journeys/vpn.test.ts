/** Real OpenVPN clients with downloaded profiles, in network namespaces, against the server that `waypost vpn` runs. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import {
  createVpnNetwork,
  type Peer,
  type Program,
  peerPort,
  serverHost,
  type VpnNetwork,
} from '../harness/vpn-network.ts'

const root = '/vpms/api/v1/vpnclient'
const platformPort = 8080
const otherPort = 9999
const environment = { WAYPOST_VPN_HOST: serverHost }

interface Client {
  id: string
  address: string
  namespace: string
  peer: Peer
  program: Program
  ask: Ask
}

let network: VpnNetwork
let platform: RunningPlatform
let server: Program
const clients = {} as Record<'admin' | 'tcpAdmin' | 'device' | 'tcpDevice' | 'otherAdmin' | 'otherDevice', Client>

async function aClient(ask: Ask, input: object): Promise<Client> {
  const created = await ask(`POST ${root}`, { name: 'c', ...input })
  assert.equal(created.status, 201, created.text)
  const { id, ipAddress } = created.body.data
  const profile = await ask(`GET ${root}/${id}/config`)
  const namespace = network.addNamespace()
  const program = network.startClient(namespace, profile.text)
  const peer = await network.peer(namespace, id)
  return { id, address: ipAddress, namespace, peer, program, ask }
}

const isConnected = ({ namespace, address }: Client) =>
  network.run(namespace, 'ip', '-4', '-oneline', 'address', 'show').includes(` ${address}/20 `)

before(async () => {
  network = createVpnNetwork()
  platform = await startPlatform({ environment })
  server = network.startServer(platform.directory, { ...environment, WAYPOST_PORT: String(platformPort) })
  const [mine, theirs] = [
    await platform.asService(platform.bootstrap.default),
    await platform.asService(platform.bootstrap.platform),
  ]
  await network.peer(network.server, 'platform', [platformPort, otherPort])
  const wanted: [keyof typeof clients, Ask, object][] = [
    ['admin', mine, { type: 'admin' }],
    ['tcpAdmin', mine, { type: 'admin', protocol: 'tcp' }],
    ['device', mine, { type: 'device' }],
    ['tcpDevice', mine, { type: 'device', protocol: 'tcp' }],
    ['otherAdmin', theirs, { type: 'admin' }],
    ['otherDevice', theirs, { type: 'device' }],
  ]
  await Promise.all(
    wanted.map(async ([name, ask, input]) => {
      clients[name] = await aClient(ask, input)
    }),
  )
})

test('clients connect over UDP and TCP with their profiles and get their addresses', async () => {
  for (const client of Object.values(clients))
    await eventually(() => assert.ok(isConnected(client), `${server.output()}\n${client.program.output()}`), {
      withinMs: 30_000,
    })
  const { admin } = clients
  await eventually(async () => {
    const { body } = await admin.ask(`GET ${root}`)
    assert.deepEqual(body.server, { running: true })
    for (const { lastConnected } of body.data) assert.ok(Date.parse(lastConnected) > 0)
  })
})

test('administrators reach the devices of their tenant, devices the platform, and nobody anything else', async () => {
  const { admin, tcpAdmin, device, tcpDevice, otherAdmin, otherDevice } = clients
  const gateway = device.address.replace(/\d+$/, '1')
  const reaches = async (from: Client, to: string, port = peerPort) => (await from.peer.connect(to, port)).length > 7
  for (const from of [admin, tcpAdmin])
    for (const to of [device, tcpDevice]) assert.equal(await from.peer.connect(to.address), to.id)
  assert.equal(await otherAdmin.peer.connect(otherDevice.address), otherDevice.id)
  for (const from of [device, tcpDevice]) assert.equal(await from.peer.connect(gateway, platformPort), 'platform')

  const forbidden: [Client, string, number?][] = [
    [device, tcpDevice.address],
    [tcpDevice, device.address],
    [device, admin.address],
    [tcpDevice, tcpAdmin.address],
    [admin, tcpAdmin.address],
    [admin, otherDevice.address],
    [admin, otherAdmin.address],
    [otherAdmin, device.address],
    [otherAdmin, tcpDevice.address],
    [otherDevice, device.address],
    [otherDevice, admin.address],
    [device, gateway, otherPort],
    [device, otherDevice.address.replace(/\d+$/, '1'), platformPort],
    [admin, gateway, platformPort],
  ]
  const reached = await Promise.all(
    forbidden.map(async ([from, to, port]) =>
      (await reaches(from, to, port)) ? `${from.address} → ${to}` : undefined,
    ),
  )
  assert.deepEqual(reached.filter(Boolean), [])
})
