/**
 * Writes the nftables rules for document 5, 8.3: administrators can reach devices of their tenant, devices can reach the platform, and
 * everything else is dropped.
 */
import { addressText, adminStartOf, rangeCount, rangeSize } from '../addresses.ts'
import type { Network } from '../settings.ts'
import { interfaceOf, protocols } from './openvpn-config.ts'

export const tableName = 'waypost_vpn'

/**
 * Returns the input of `nft`, which replaces the platform's existing rules atomically. The rules cover the ranges of all possible tenants,
 * so that a new tenant changes no rule.
 */
export function firewallRules({ network, platformPorts }: { network: Network; platformPorts: number[] }): string {
  const starts = Array.from({ length: rangeCount(network) }, (_, index) => network.first + index * rangeSize)
  const devicesOf = (start: number) => `${addressText(start + 2)}-${addressText(adminStartOf(start) - 1)}`
  const adminsOf = (start: number) => `${addressText(adminStartOf(start))}-${addressText(start + rangeSize - 1)}`
  const interfaces = `{ ${protocols.map((protocol) => `"${interfaceOf(protocol)}"`).join(', ')} }`
  const wholeNetwork = `${addressText(network.first)}/${network.prefix}`
  const pairs = (name: string, pairOf: (start: number) => string) => `
  set ${name} {
    type ipv4_addr . ipv4_addr
    flags interval
    elements = { ${starts.map(pairOf).join(',\n      ')} }
  }`
  const ports = platformPorts.length === 0 ? [] : [`tcp dport { ${platformPorts.join(', ')} } accept`]
  return `table inet ${tableName} {}
delete table inet ${tableName}
table inet ${tableName} {${pairs('admin_to_device', (start) => `${adminsOf(start)} . ${devicesOf(start)}`)}
${pairs('device_to_admin', (start) => `${devicesOf(start)} . ${adminsOf(start)}`)}
${pairs('device_to_platform', (start) => `${devicesOf(start)} . ${addressText(start + 1)}`)}

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname ${interfaces} jump between
    oifname ${interfaces} jump between
  }
  chain between {
    iifname != ${interfaces} drop
    oifname != ${interfaces} drop
    ct state invalid drop
    ip saddr . ip daddr @admin_to_device accept
    ct state established,related ip saddr . ip daddr @device_to_admin accept
    drop
  }

  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname ${interfaces} jump to_platform
    iifname != "lo" ip daddr ${wholeNetwork} iifname != ${interfaces} drop
  }
  # Packets of a connection that was accepted have its addresses, so they need no look-up of ranges.
  chain to_platform {
    ct state established accept
    ip saddr . ip daddr != @device_to_platform drop
    icmp type echo-request accept
    ct state related accept
    ${[...ports, 'drop'].join('\n    ')}
  }

  chain output {
    type filter hook output priority filter - 10; policy accept;
    oifname ${interfaces} jump from_platform
  }
  chain from_platform {
    icmp type redirect drop
    ct state established,related accept
    drop
  }
}
`
}
