import { contract } from '../../kernel/contract.ts'

/** Runs the VPN server, for the command `waypost vpn`. */
export interface Vpn {
  /**
   * Runs the server until `stop` aborts. While another process runs it, this one waits and takes over. `report` gets one line
   * for each change, such as what is missing.
   */
  serve(options: { stop: AbortSignal; report(line: string): void }): Promise<void>
}
export const Vpn = contract<Vpn>('vpn')
