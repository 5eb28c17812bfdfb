import { ConfigurationError, daysOrForEver, defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export interface Network {
  /** The first address as a number. */
  first: number
  prefix: number
}

export const vpnSettings = defineSettings(
  {
    VPN_HOST: {
      kind: 'text',
      default: undefined,
      meaning: 'name or address that VPN clients connect to; default: the host of WAYPOST_BASE_URL',
    },
    VPN_PORT: { kind: 'port', default: '1194', meaning: 'port of the VPN server, for UDP and for TCP' },
    VPN_NETWORK: {
      kind: 'text',
      default: '10.80.0.0/12',
      meaning:
        'IPv4 network of the VPN; each tenant with VPN clients gets a /20 of this network; do not change the network while there are clients',
    },
    VPN_CERTIFICATE_DAYS: {
      kind: 'integer',
      default: '3650',
      range: daysOrForEver,
      meaning: 'days that certificates of the VPN are valid; 0: for ever',
    },
  },
  (value) => ({
    host: checkedHost(value.VPN_HOST),
    port: checkedPort(value.VPN_PORT),
    network: readNetwork(value.VPN_NETWORK),
    certificateDays: value.VPN_CERTIFICATE_DAYS,
  }),
)
export type VpnSettings = SettingsOf<typeof vpnSettings>

const numberOf = (address: string) => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)

/** Parses the network. Throws unless it is an IPv4 network with room for at least one range. */
function readNetwork(text: string): Network {
  const [, address = '', prefixText = ''] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? []
  const prefix = Number(prefixText)
  const isAddress = address !== '' && address.split('.').every((part) => Number(part) < 256)
  const first = isAddress ? numberOf(address) : 0
  if (!isAddress || prefix < 8 || prefix > 20 || first % 2 ** (32 - prefix) !== 0)
    throw new ConfigurationError(
      `WAYPOST_VPN_NETWORK is ${JSON.stringify(text)}; expected an IPv4 network of /8 to /20, such as 10.80.0.0/12`,
    )
  return { first, prefix }
}

/** Checks the host. It is written into profiles, so it must not add an option or a line to them. */
function checkedHost(text: string | undefined): string | undefined {
  if (text === undefined || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$|^[0-9A-Fa-f:.]{2,45}$/.test(text))
    return text
  throw new ConfigurationError(
    `WAYPOST_VPN_HOST is ${JSON.stringify(text)}; expected a host name or an IP address without a port`,
  )
}

function checkedPort(port: number): number {
  if (port > 0) return port
  throw new ConfigurationError('WAYPOST_VPN_PORT is 0; expected a port from 1 to 65535, because profiles contain it')
}
