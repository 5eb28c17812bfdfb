import { loadConfig } from '../config.ts'
import { CannotServe } from '../services/vpn/contract.ts'
import { print } from './output.ts'
import { listenForStop } from './stop-request.ts'

export const usage = `usage: waypost vpn [config]

  vpn           run the VPN server until it is stopped; while another process runs it, wait and take over
  vpn config    print what the server would run with, and what is missing for it
`

/** Runs the VPN server beside the platform, or prints its configuration. */
export async function run(args: string[]): Promise<number> {
  const [action, ...rest] = args
  if ((action !== undefined && action !== 'config') || rest.length > 0) {
    process.stderr.write(usage)
    return 2
  }
  const config = loadConfig()
  const { describeVpnServer, runVpnServer } = await import('../assembly/vpn.ts')
  if (action === 'config') {
    const { text, missing } = await describeVpnServer(config)
    print(text)
    for (const problem of missing) print(`# missing: ${problem}`)
    return missing.length === 0 ? 0 : 1
  }
  const stop = listenForStop()
  try {
    await runVpnServer(config, stop.signal, print)
    return 0
  } catch (error) {
    if (!(error instanceof CannotServe)) throw error
    process.stderr.write(`waypost: the VPN server cannot run on this machine\n${error.message}\n`)
    return 1
  }
}
