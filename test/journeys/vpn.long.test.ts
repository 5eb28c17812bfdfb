/** Connects real OpenVPN clients with downloaded profiles, in network namespaces, to the server that `waypost vpn` runs. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, runCommand, startPlatform } from '../harness/platform.ts'
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
/** A program on the machine of the server. */
let host: Peer
const profiles = new Map<string, string>()
const clients = {} as Record<'admin' | 'tcpAdmin' | 'device' | 'tcpDevice' | 'otherAdmin' | 'otherDevice', Client>

async function aClient(ask: Ask, input: object): Promise<Client> {
  const created = await ask(`POST ${root}`, { name: 'c', ...input })
  assert.equal(created.status, 201, created.text)
  const { id, ipAddress } = created.body.data
  const profile = await ask(`GET ${root}/${id}/config`)
  profiles.set(id, profile.text)
  const namespace = network.addNamespace()
  const program = network.startClient(namespace, profile.text)
  const peer = await network.peer(namespace, id)
  return { id, address: ipAddress, namespace, peer, program, ask }
}

/**
 * Runs `waypost vpn` without a Linux capability that it needs. Checks that the command ends and that command and API name the capability.
 */
async function checkRefusalWithoutCapability() {
  const { ended, output } = network.startServer(platform.directory, environment, [
    ...['setpriv', '--bounding-set', '-net_admin'],
  ])
  assert.equal(await ended, 1)
  assert.match(output(), /cannot run on this machine[\s\S]*CAP_NET_ADMIN/)
  const ask = await platform.asService(platform.bootstrap.default)
  const { server: state } = (await ask(`GET ${root}`)).body
  assert.equal(state.running, false)
  assert.match(state.problem, /CAP_NET_ADMIN/)
}

const isConnected = ({ namespace, address }: Client) =>
  network.run(namespace, 'ip', '-4', '-oneline', 'address', 'show').includes(` ${address}/20 `)

before(async () => {
  network = createVpnNetwork()
  platform = await startPlatform({ environment })
  await checkRefusalWithoutCapability()
  server = network.startServer(platform.directory, { ...environment, WAYPOST_PORT: String(platformPort) })
  const [mine, theirs] = [
    await platform.asService(platform.bootstrap.default),
    await platform.asService(platform.bootstrap.platform),
  ]
  host = await network.peer(network.server, 'platform', [platformPort, otherPort])
  const clientRequests: [keyof typeof clients, Ask, object][] = [
    ['admin', mine, { type: 'admin' }],
    ['tcpAdmin', mine, { type: 'admin', protocol: 'tcp' }],
    ['device', mine, { type: 'device' }],
    ['tcpDevice', mine, { type: 'device', protocol: 'tcp' }],
    ['otherAdmin', theirs, { type: 'admin' }],
    ['otherDevice', theirs, { type: 'device' }],
  ]
  await Promise.all(
    clientRequests.map(async ([name, ask, input]) => {
      clients[name] = await aClient(ask, input)
    }),
  )
})

test('waypost vpn config prints the configuration of the server without its keys', async () => {
  const { stdout } = await runCommand(['vpn', 'config'], { environment })
  for (const part of ['proto udp', 'proto tcp-server', 'management-client-auth', 'table inet waypost_vpn'])
    assert.ok(stdout.includes(part), part)
  assert.ok(!stdout.includes('BEGIN'))
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

test('administrators reach the devices of their tenant, devices reach the platform, and all other packets are dropped', async () => {
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
  const answers = await Promise.all([device, admin].map(({ address }) => host.connect(address)))
  for (const answer of answers) assert.notEqual(answer.length, device.id.length)
})

test('packets with the address of another client are dropped, inside and outside of tunnels', async () => {
  const { admin, tcpAdmin, device, tcpDevice, otherAdmin, otherDevice } = clients
  const everyone = Object.values(clients)
  const takeAddress = (namespace: string, address: string, device: string) =>
    network.run(namespace, 'ip', 'address', 'replace', `${address}/32`, 'dev', device)
  const tunnels: [from: Client, as: Client, to: Client][] = [
    [device, admin, tcpDevice],
    [otherDevice, admin, device],
    [otherAdmin, admin, tcpDevice],
    [otherAdmin, tcpAdmin, device],
    [tcpDevice, otherAdmin, otherDevice],
    [device, tcpDevice, admin],
  ]
  for (const [from, as, to] of tunnels) {
    takeAddress(from.namespace, as.address, 'tun0')
    network.run(from.namespace, 'ip', 'route', 'replace', `${to.address}/32`, 'dev', 'tun0')
    const text = `from ${from.address} as ${as.address}`
    assert.equal(await from.peer.send(to.address, text, { from: as.address }), 'sent')
    network.run(from.namespace, 'ip', 'address', 'delete', `${as.address}/32`, 'dev', 'tun0')
  }
  // The namespace `beside` stands for a machine outside of the VPN whose router is the VPN server.
  const beside = network.addNamespace()
  const outside = await network.peer(beside, 'outside')
  takeAddress(beside, admin.address, 'lo')
  for (const { address } of everyone)
    if (address !== admin.address) await outside.send(address, 'from outside', { from: admin.address })
  assert.equal(await outside.connect(device.address.replace(/\d+$/, '1'), platformPort), 'timeout')
  // The server also drops packets from a tunnel to a network of the server.
  const [, besideAddress = ''] = /inet (192\.0\.2\.\d+)/.exec(network.run(beside, 'ip', '-4', 'address'))!
  for (const from of everyone) {
    network.run(from.namespace, 'ip', 'route', 'replace', `${besideAddress}/32`, 'dev', 'tun0')
    await from.peer.send(besideAddress, 'to outside')
  }
  // The messages below are sent last. When they have arrived, every earlier message has arrived or was dropped.
  for (const to of [device, tcpDevice]) await admin.peer.send(to.address, 'allowed')
  await otherAdmin.peer.send(otherDevice.address, 'allowed')
  for (const { peer } of [device, tcpDevice, otherDevice])
    await eventually(() => assert.deepEqual(peer.received(), ['allowed']))
  for (const { peer } of [admin, tcpAdmin, otherAdmin]) assert.deepEqual(peer.received(), [])
  assert.deepEqual(outside.received(), [])
})

const sessionsOf = ({ program }: Client) => program.output().split('Initialization Sequence Completed').length - 1

test('tunnels stay open while the platform restarts', async () => {
  const { admin, device, tcpDevice } = clients
  const before = Object.values(clients).map(sessionsOf)
  assert.equal(await platform.kill('SIGTERM'), 0)
  for (const to of [device, tcpDevice]) assert.equal(await admin.peer.connect(to.address), to.id)
  platform = await startPlatform({ environment, directory: platform.directory })
  const ask = await platform.asService(platform.bootstrap.default)
  await eventually(async () => assert.deepEqual((await ask(`GET ${root}`)).body.server, { running: true }))
  for (const to of [device, tcpDevice]) assert.equal(await admin.peer.connect(to.address), to.id)
  assert.deepEqual(Object.values(clients).map(sessionsOf), before)
})

test('revoked clients are disconnected within 10 seconds, and their profiles are refused', async () => {
  const { device, tcpDevice, tcpAdmin } = clients
  const ask = await platform.asService(platform.bootstrap.default)
  const revoked = [device, tcpDevice]
  for (const { id } of revoked) assert.equal((await ask(`DELETE ${root}/${id}`)).status, 204)
  for (const { address } of revoked)
    await eventually(async () => assert.equal((await tcpAdmin.peer.connect(address)).length > 7, false), {
      withinMs: 9_000,
    })
  for (const { id, namespace, program } of revoked) {
    await eventually(() =>
      assert.ok(program.process.exitCode !== null, `the client has not ended: ${program.output().slice(-3000)}`),
    )
    const again = network.startClient(namespace, profiles.get(id)!)
    await eventually(() =>
      assert.match(again.output(), /AUTH_FAILED|revoked|TLS Error|Connection reset/i, again.output()),
    )
    assert.doesNotMatch(again.output(), /Initialization Sequence Completed/)
    again.process.kill('SIGKILL')
  }
})

test('when the process of the server is killed, the tunnels end, another process takes over, and revoked clients are refused', async () => {
  const { otherAdmin, otherDevice } = clients
  const sessions = sessionsOf(otherAdmin)
  server.process.kill('SIGKILL')
  await server.ended
  await eventually(() => assert.doesNotMatch(network.run(network.server, 'ip', 'link'), /wpvpn/))
  const ask = await platform.asService(platform.bootstrap.platform)
  assert.equal((await ask(`DELETE ${root}/${otherDevice.id}`)).status, 204)
  // A client detects only after a minute that the server does not respond, so the test makes the clients reconnect with SIGUSR1.
  for (const { program } of [otherAdmin, otherDevice]) program.process.kill('SIGUSR1')
  server = network.startServer(platform.directory, { ...environment, WAYPOST_PORT: String(platformPort) })
  await eventually(() => assert.match(server.output(), /accepts clients/), { withinMs: 10_000 })
  await eventually(() => assert.ok(sessionsOf(otherAdmin) > sessions, otherAdmin.program.output()), {
    withinMs: 20_000,
  })
  assert.notEqual(await otherAdmin.peer.connect(otherDevice.address), otherDevice.id)
  assert.equal(sessionsOf(otherDevice), 1)
})

test('a server that is stopped leaves no tunnel interfaces and no firewall rules behind', async () => {
  server.process.kill('SIGTERM')
  assert.equal(await server.ended, 0)
  assert.equal(network.run(network.server, 'nft', 'list', 'ruleset').trim(), '')
  assert.doesNotMatch(network.run(network.server, 'ip', 'link'), /wpvpn/)
  const ask = await platform.asService(platform.bootstrap.default)
  assert.equal((await ask(`GET ${root}`)).body.server.running, false)
})
