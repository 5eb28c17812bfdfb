import { contract } from '../../kernel/contract.ts'

/** Thrown if this machine or user cannot run the VPN server. The message names what is missing. */
export class CannotServe extends Error {
  override readonly name = 'CannotServe'
}

/** The contract is empty, because no other service calls this service. `waypost vpn` runs the server (assembly/vpn.ts). */
export type Vpn = Record<never, never>
export const Vpn = contract<Vpn>('vpn')
