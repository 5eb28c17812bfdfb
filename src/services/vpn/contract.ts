import { contract } from '../../kernel/contract.ts'

/** This machine or user cannot run the VPN server; the message says what is missing. */
export class CannotServe extends Error {
  override readonly name = 'CannotServe'
}

/** No service calls this one. `waypost vpn` runs the server (assembly/vpn.ts). */
export type Vpn = Record<never, never>
export const Vpn = contract<Vpn>('vpn')
