/** Prints completion scripts of shells. They ask this program for the words, so they fit every version. */
import { dashed } from './api/dashed.ts'
import { descriptionOf } from './api/descriptions.ts'
import { usageError } from './api/errors.ts'
import { flagsOf } from './api/flags.ts'
import { findOperation, operationsBelow } from './api/names.ts'
import { nouns } from './api/nouns.ts'
import { commands } from './commands.ts'
import { print } from './output.ts'

export const usage = `usage: waypost completion bash|zsh|fish

  bash   source <(waypost completion bash)
  zsh    source <(waypost completion zsh)
  fish   waypost completion fish | source
`

const scripts: Record<string, string> = {
  bash: `_waypost() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(waypost completion words "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _waypost waypost`,
  zsh: `_waypost() {
  local -a found
  found=("\${(@f)$(waypost completion words "\${words[@]:1:CURRENT-2}" 2>/dev/null)}")
  compadd -a found
}
compdef _waypost waypost`,
  fish: `complete -c waypost -f -a '(waypost completion words (commandline -opc)[2..] 2>/dev/null)'`,
}

export async function run([shell = '', ...words]: string[]): Promise<number> {
  if (shell === 'words') {
    for (const word of await nextWords(words)) print(word)
    return 0
  }
  const script = scripts[shell]
  if (script === undefined) throw usageError('expected a shell', usage)
  print(script)
  return 0
}

const commonFlags = ['--output', '--columns', '--file', '--dry-run', '--context', '--help']

/** Returns the words that can follow. */
export async function nextWords(words: string[]): Promise<string[]> {
  if (words.length === 0) return [...Object.keys(commands), ...nouns()]
  const operation = findOperation(words)
  if (operation) {
    const flags = flagsOf((await descriptionOf(operation.name))!).map(({ flag }) => `--${flag}`)
    return [...flags, ...commonFlags]
  }
  const names = words.map(dashed)
  const next = (await operationsBelow(names)).map(({ words: text }) => text.split(' ')[names.length]!)
  return [...new Set(next)]
}
