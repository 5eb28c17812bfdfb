/** Writes the configuration of an OpenVPN server. The configuration is passed through standard input, so that no key is stored on disk. */
import { dataCiphers, inline } from '../profile.ts'
import type { Installation } from '../service/authorities.ts'

export type Protocol = 'tcp' | 'udp'
export const protocols: readonly Protocol[] = ['udp', 'tcp']

export const interfaceOf = (protocol: Protocol) => `wpvpn-${protocol}`

export interface ServerFiles {
  /** Socket on which this process waits for OpenVPN. */
  socket: string
  revocationLists: string
}

/** Maximum number of clients of one OpenVPN process. OpenVPN's default is 1024. */
const clientsMax = 16_384

/**
 * Writes the configuration. With `management-client-auth`, OpenVPN rejects every client that `waypost vpn` does not accept after a check in
 * the database. With `management-client`, OpenVPN ends when `waypost vpn` ends. Inside OpenVPN, clients cannot reach each other; their
 * packets pass the firewall of this machine.
 */
export function serverConfig(
  options: { protocol: Protocol; port: number; files: ServerFiles; dropRights: boolean },
  { root, server, tlsCrypt }: Installation,
): string {
  const { protocol, files } = options
  return [
    'mode server',
    'tls-server',
    `proto ${protocol === 'udp' ? 'udp' : 'tcp-server'}`,
    `port ${options.port}`,
    `dev ${interfaceOf(protocol)}`,
    'dev-type tun',
    'topology subnet',
    'push "topology subnet"',
    // `waypost vpn` sets addresses and routes itself.
    'ifconfig-noexec',
    'route-noexec',
    'script-security 0',
    `max-clients ${clientsMax}`,
    'keepalive 10 60',
    'persist-key',
    'persist-tun',
    // Disables OpenVPN's kernel module (data channel offload): it checks source addresses in its own way, which our tests do not cover.
    'disable-dco',
    'dh none',
    'tls-version-min 1.2',
    'auth SHA256',
    `data-ciphers ${dataCiphers}`,
    'allow-compression no',
    'verify-client-cert require',
    'remote-cert-tls client',
    `crl-verify ${quoted(files.revocationLists)}`,
    `management ${quoted(files.socket)} unix`,
    'management-client',
    'management-client-auth',
    'management-hold',
    // Clients have a certificate, but neither username nor password.
    'auth-user-pass-optional',
    ...(protocol === 'udp' ? ['multihome', 'explicit-exit-notify 1'] : ['tcp-nodelay']),
    ...(options.dropRights ? ['user nobody', 'group nogroup'] : []),
    'verb 3',
    '',
    inline('ca', root.certificate),
    inline('cert', server.certificate),
    inline('key', server.privateKey),
    inline('tls-crypt', tlsCrypt),
  ].join('\n')
}

/** Quotes a path for a configuration of OpenVPN. */
const quoted = (path: string) => `"${path.replace(/["\\]/g, '\\$&')}"`

const hidden = '(not shown)'

/** Placeholders for certificates and keys in the output of `waypost vpn config`. */
export const hiddenInstallation: Installation = {
  root: { certificate: hidden, privateKey: hidden },
  server: { certificate: hidden, privateKey: hidden },
  tlsCrypt: hidden,
}
