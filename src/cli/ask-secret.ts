import { interruption } from './api/errors.ts'

/** Asks a person at the terminal for a secret. The typed text is not shown. */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  let text = ''
  try {
    for await (const keys of stdin as AsyncIterable<string>)
      for (const key of keys) {
        if (key === '\r' || key === '\n') return text
        // The user pressed Ctrl-C or Ctrl-D.
        if (key === '\u0003' || key === '\u0004') throw interruption('nothing was changed')
        text = key === '\u007f' || key === '\b' ? text.slice(0, -1) : text + key
      }
    return text
  } finally {
    stdin.setRawMode(false)
    stderr.write('\n')
  }
}
