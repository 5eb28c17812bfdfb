import { spawn } from 'node:child_process'

/** Opens an address, which contains no secret, in the browser of the user. Without a browser, the printed address is enough. */
export function openBrowser(address: string) {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [address], { stdio: 'ignore', detached: true })
  child.on('error', () => process.stderr.write(`${program} is not available; open the address yourself.\n`))
  child.unref()
}
