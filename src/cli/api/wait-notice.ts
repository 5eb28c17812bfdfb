/** Says on a terminal which server a command waits for. node-fetch.ts loads this module only after it has waited for some seconds. */
import { visible } from './visible.ts'

/** Returns a function that writes the host to the terminal. Only the first call writes, and only if standard error is a terminal. */
export function createWaitNotice(terminal: { isTTY?: boolean; write(text: string): unknown } = process.stderr) {
  let isWritten = false
  return (host: string) => {
    if (isWritten || !terminal.isTTY) return
    isWritten = true
    terminal.write(`waypost: waiting for an answer from ${visible(host)}\n`)
  }
}

export const noticeWait = createWaitNotice()
