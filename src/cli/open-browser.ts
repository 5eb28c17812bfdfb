import { spawn } from 'node:child_process'

/**
 * Opens an address in the browser of the user. The address contains no secret. If there is no browser, the user can use the printed
 * address.
 */
export function openBrowser(address: string) {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [address], { stdio: 'ignore', detached: true })
  child.on('error', () => process.stderr.write(`${program} is not available; open the address yourself.\n`))
  child.unref()
}
