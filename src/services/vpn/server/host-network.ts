/** Sets up the firewall, addresses and routes of this machine. */
import { writeFileSync } from 'node:fs'
import type { Network } from '../settings.ts'
import { firewallRules, tableName } from './firewall.ts'
import { interfaceOf, type Protocol } from './openvpn-config.ts'
import { type Programs, runProgram } from './programs.ts'

export interface HostNetwork {
  loadFirewall(): Promise<void>
  removeFirewall(): Promise<void>
  /** Enables forwarding on the network interface of an OpenVPN process, before any client connects. */
  openInterface(protocol: Protocol): Promise<void>
  /** Routes packets for a client to the network interface, and gives the interface the platform's address in the range of the client. */
  addClient(protocol: Protocol, client: { address: string; gateway: string }): Promise<void>
  removeClient(protocol: Protocol, address: string): Promise<void>
}

export function createHostNetwork(
  { ip, nft }: Pick<Programs, 'ip' | 'nft'>,
  rules: { network: Network; platformPorts: number[] },
): HostNetwork {
  const run = createBatches((lines) => runProgram(ip, ['-force', '-batch', '-'], `${lines.join('\n')}\n`))
  return {
    loadFirewall: () => runProgram(nft, ['-f', '-'], firewallRules(rules)),
    removeFirewall: () => runProgram(nft, ['-f', '-'], `table inet ${tableName} {}\ndelete table inet ${tableName}\n`),
    async openInterface(protocol) {
      const name = interfaceOf(protocol)
      // Forwarding is enabled only on this interface, so that the machine does not become a router for its other networks.
      for (const [option, value] of Object.entries({ forwarding: 1, send_redirects: 0, accept_redirects: 0 }))
        writeFileSync(`/proc/sys/net/ipv4/conf/${name}/${option}`, String(value))
      await run([`link set dev ${name} up`])
    },
    addClient: (protocol, { address, gateway }) =>
      run([
        `address replace ${gateway}/32 dev ${interfaceOf(protocol)}`,
        `route replace ${address}/32 dev ${interfaceOf(protocol)}`,
      ]),
    removeClient: (protocol, address) => run([`route flush exact ${address}/32 dev ${interfaceOf(protocol)}`]),
  }
}

/**
 * Returns a function that runs lines with `runLines`. Lines that arrive while `runLines` is running are collected for its next run, so that
 * many clients need only few processes of `ip`.
 */
function createBatches(runLines: (lines: string[]) => Promise<void>): (lines: string[]) => Promise<void> {
  let waiting: { lines: string[]; done: PromiseWithResolvers<void> }[] = []
  let running = false
  async function drain() {
    running = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await runLines(batch.flatMap(({ lines }) => lines))
        for (const { done } of batch) done.resolve()
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    running = false
  }
  return (lines) => {
    const done = Promise.withResolvers<void>()
    waiting.push({ lines, done })
    if (!running) void drain()
    return done.promise
  }
}
