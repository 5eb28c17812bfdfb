/**
 * Measures in turn a tunnel of `waypost vpn` and a tunnel of an OpenVPN server that the bench starts itself. The programs run in network
 * namespaces.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newSerialNumber } from '../../src/kernel/pki/certificate-fields.ts'
import { makeAuthority, makeCertificate } from '../../src/kernel/pki/x509.ts'
import { dataCiphers, inline } from '../../src/services/vpn/profile.ts'
import type { Ask } from '../../test/harness/client.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createVpnNetwork, serverHost, type VpnNetwork } from '../../test/harness/vpn-network.ts'
import { type Figure, median } from '../report.ts'

const rounds = 8
const floodMs = 2000
const platformPort = 8080
const handPort = 1195
const pump = resolve(import.meta.dirname, 'pump.mjs')

const common = ['auth SHA256', `data-ciphers ${dataCiphers}`, 'tls-version-min 1.2', 'disable-dco', 'verb 3']

/** Returns the configurations of a server and a client as a manual would recommend them, with the ciphers that Waypost uses. */
async function manualConfigs(protocol: 'udp' | 'tcp') {
  const dates = { notBefore: new Date(), notAfter: new Date(Date.now() + 86_400_000) }
  const issuer = await makeAuthority({ ...dates, serialNumber: newSerialNumber(), commonName: 'by hand' })
  const issue = (commonName: string, hosts?: string[]) =>
    makeCertificate({ ...dates, serialNumber: newSerialNumber(), commonName, issuer, ...(hosts && { hosts }) })
  const key = randomBytes(256).toString('hex').match(/.{32}/g)!.join('\n')
  const tlsCrypt = `-----BEGIN OpenVPN Static key V1-----\n${key}\n-----END OpenVPN Static key V1-----`
  const parts = ({ certificate, privateKey }: { certificate: string; privateKey: string }) =>
    [
      inline('ca', issuer.certificate),
      inline('cert', certificate),
      inline('key', privateKey),
      inline('tls-crypt', tlsCrypt),
    ].join('')
  const server = [
    ...['server 10.9.0.0 255.255.255.0', 'topology subnet', `port ${handPort}`, 'dev hand0', 'dev-type tun'],
    ...[`proto ${protocol === 'udp' ? 'udp' : 'tcp-server'}`, 'dh none', 'keepalive 10 60', ...common],
    ...(protocol === 'udp' ? ['multihome'] : ['tcp-nodelay']),
    parts(await issue('server', ['server'])),
  ]
  const client = [
    ...['client', 'dev hand0', 'dev-type tun', `proto ${protocol}`, `remote ${serverHost} ${handPort}`, 'nobind'],
    ...['remote-cert-tls server', ...common],
    parts(await issue('client')),
  ]
  return { server: server.join('\n'), client: client.join('\n') }
}

async function floodMbit(network: VpnNetwork, namespace: string, host: string, port: number): Promise<number> {
  const { output, ended } = network.spawn(namespace, [
    process.execPath,
    pump,
    'flood',
    host,
    String(port),
    String(floodMs),
  ])
  await ended
  const { bytes, ms } = JSON.parse(output()) as { bytes: number; ms: number }
  return (bytes * 8) / ms / 1000
}

const isUp = (network: VpnNetwork, namespace: string, address: string) =>
  eventually(
    () => {
      if (!network.run(namespace, 'ip', '-4', 'address').includes(address)) throw new Error(`no tunnel to ${address}`)
    },
    { withinMs: 30_000 },
  )

export async function throughput(directory: string, folder: string, ask: Ask): Promise<Figure[]> {
  const network = createVpnNetwork()
  network.startServer(directory, { WAYPOST_VPN_HOST: serverHost, WAYPOST_PORT: String(platformPort) })
  for (const port of [platformPort]) network.spawn(network.server, [process.execPath, pump, 'sink', String(port)])
  const figures: Figure[] = []
  for (const protocol of ['udp', 'tcp'] as const) {
    const namespace = network.addNamespace()
    const created = await ask('POST /vpms/api/v1/vpnclient', { name: 'bench', type: 'device', protocol })
    const { id, ipAddress } = created.body.data
    network.startClient(namespace, (await ask(`GET /vpms/api/v1/vpnclient/${id}/config`)).text)
    const configs = await manualConfigs(protocol)
    const programs = (['server', 'client'] as const).map((side) => {
      const file = join(folder, `${protocol}-${side}.conf`)
      writeFileSync(file, configs[side], { mode: 0o600 })
      return network.spawn(side === 'server' ? network.server : namespace, ['openvpn', '--config', file])
    })
    await Promise.all([isUp(network, namespace, ipAddress), isUp(network, namespace, '10.9.0.')])
    const ours: number[] = []
    const byHand: number[] = []
    const measureOurs = async () =>
      ours.push(await floodMbit(network, namespace, ipAddress.replace(/\d+\.\d+$/, '0.1'), platformPort))
    const measureManual = async () => byHand.push(await floodMbit(network, namespace, '10.9.0.1', platformPort))
    // The order of the two servers alternates, so that a change of the load of the machine affects both servers.
    for (let round = 0; round < rounds; round++)
      for (const measure of round % 2 === 0 ? [measureOurs, measureManual] : [measureManual, measureOurs])
        await measure()
    for (const { process, ended } of programs) {
      process.kill('SIGTERM')
      await ended
    }
    const name = `Tunnel over ${protocol.toUpperCase()}`
    figures.push(
      { name: `${name}, waypost vpn`, value: median(ours), unit: 'Mbit/s' },
      { name: `${name}, OpenVPN started by hand`, value: median(byHand), unit: 'Mbit/s' },
      {
        name: `${name}: against OpenVPN started by hand, median of ${rounds} pairs`,
        value: median(ours.map((value, round) => value / byHand[round]!)),
        unit: 'times',
        limit: { min: 0.9 },
      },
    )
  }
  return figures
}
