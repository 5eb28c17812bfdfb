/** The parts of the OpenVPN profile of a client. No part is a text that a user of the tenant has entered. */
export interface ProfileParts {
  host: string
  port: number
  protocol: 'tcp' | 'udp'
  /** The VPN's root authority, which signed the certificate of the server. */
  root: string
  /** The authority of the tenant, which signed the certificate of the client. */
  authority: string
  certificate: string
  privateKey: string
  tlsCrypt: string
}

/** Ciphers that both sides accept, the preferred cipher first. */
export const dataCiphers = 'AES-256-GCM:AES-128-GCM:CHACHA20-POLY1305'

export const inline = (name: string, content: string) => `<${name}>\n${content.trim()}\n</${name}>\n`

/**
 * Returns the profile. The server trusts only the root, so that OpenVPN needs no restart for a new tenant. Clients therefore also send the
 * certificate of their tenant's authority (`extra-certs`). Some programs ignore `extra-certs`. For these programs that certificate is also
 * in `ca`, from which OpenSSL completes the chain.
 */
export const profileText = (parts: ProfileParts): string =>
  [
    'client',
    'dev tun',
    `proto ${parts.protocol}`,
    `remote ${parts.host} ${parts.port}`,
    'resolv-retry infinite',
    'nobind',
    'persist-key',
    'persist-tun',
    'remote-cert-tls server',
    'tls-version-min 1.2',
    'auth SHA256',
    `data-ciphers ${dataCiphers}`,
    'verb 3',
    '',
  ].join('\n') +
  inline('ca', parts.authority.trim() + '\n' + parts.root) +
  inline('cert', parts.certificate) +
  inline('extra-certs', parts.authority) +
  inline('key', parts.privateKey) +
  inline('tls-crypt', parts.tlsCrypt)
