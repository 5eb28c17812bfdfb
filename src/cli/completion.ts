/** Prints completion scripts for shells. The scripts call this program to get the possible words, so they work with every version. */
import { readContexts } from './api/contexts.ts'
import { dashed } from './api/dashed.ts'
import { descriptionOf } from './api/descriptions.ts'
import { usageError } from './api/errors.ts'
import { flagsOf, formats } from './api/flags.ts'
import { isFile } from './api/help.ts'
import { findOperation, operationsBelow } from './api/names.ts'
import { nouns } from './api/nouns.ts'
import type { Command, Commands } from './command.ts'
import { print } from './output.ts'

export const usage = `usage: waypost completion bash|zsh|fish

  bash   source <(waypost completion bash)
  zsh    source <(waypost completion zsh)
  fish   waypost completion fish | source
`

// The scripts pass the typed words after --, so that a --help among them is not an option of this command. They only compare the printed
// words and never evaluate them, because a name of a context can be any text. If no words are printed, the shells complete file names.
const scripts: Record<string, string> = {
  bash: `_waypost() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "\${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$word")
  done < <(waypost completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -o default -F _waypost waypost`,
  zsh: `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_waypost() {
  local -a found
  found=("\${(@f)$(waypost completion words -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _waypost waypost`,
  fish: `function __waypost_words
  set -l found (waypost completion words -- (commandline -opc)[2..] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c waypost -f -a '(__waypost_words)'`,
}

export async function run([shell = '', ...words]: string[], commands: Commands): Promise<number> {
  if (shell === 'words') {
    for (const word of await nextWords(commands, words[0] === '--' ? words.slice(1) : words)) print(word)
    return 0
  }
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (script === undefined) throw usageError('expected a shell', usage)
  print(script)
  return 0
}

/** Returns the words that can follow these words of a command line; none if a file name or any other value of the user follows. */
export async function nextWords(commands: Commands, words: string[]): Promise<string[]> {
  const [name, ...rest] = words
  if (name === undefined) return [...Object.keys(commands), ...nouns(), 'help']
  if (name === 'help') return rest.length === 0 ? [...Object.keys(commands), ...nouns()] : await verbsBelow(rest)
  if (words.at(-1) === '--context') return contextNames()
  const operation = await findOperation(words)
  if (operation) return await wordsOfOperation(operation.name, operation.rest.at(-1))
  const verbs = await verbsBelow(words)
  if (!Object.hasOwn(commands, name)) return verbs
  return [...new Set([...(await wordsOfCommand(commands[name]!, name, rest)), ...verbs])]
}

async function verbsBelow(words: string[]): Promise<string[]> {
  const names = words.map(dashed)
  const next = (await operationsBelow(names)).flatMap(({ words: text }) => text.split(' ')[names.length] ?? [])
  return [...new Set(next)]
}

const contextNames = () => Object.keys(readContexts().contexts)

/** Returns the flags of an operation. If the last word is a flag with fixed values, returns these values. */
async function wordsOfOperation(name: string, last = ''): Promise<string[]> {
  const description = (await descriptionOf(name))!
  const flags = flagsOf(description)
  if (last === '-o' || last === '--output') return [...formats]
  const own = flags.find(({ flag }) => `--${flag}` === last)
  if (own && own.described.kind !== 'boolean') return (own.described.choices ?? []).map(String)
  if (['-f', '--file', '--save', '--columns', '--limit', '--page-size', '--if-match', '--url'].includes(last)) return []
  return [
    ...flags.map(({ flag }) => `--${flag}`),
    ...(description.body ? ['--file'] : []),
    ...(description.paged ? ['--limit', '--page-size'] : []),
    ...(description.conditions.includes('ifMatch') ? ['--if-match'] : []),
    ...(isFile(description) ? ['--save', '--force'] : []),
    ...['--output', '--columns', '--dry-run', '--context', '--help'],
  ]
}

/** Returns the actions and flags in the usage text of a command. */
async function wordsOfCommand(command: Command, name: string, words: string[]): Promise<string[]> {
  if (!command.takesArguments) return []
  const text = (await command.load()).usage ?? ''
  const [last] = words.slice(-1)
  if (name === 'context' && (last === 'use' || last === 'delete')) return contextNames()
  if (last === '-o' || last === '--output') return /-o (\w+(?:\|\w+)+)/.exec(text)?.[1]?.split('|') ?? []
  if (last?.startsWith('-') && text.includes(`${last} <`)) return []
  const flags = [...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([flag]) => flag)
  return words.length === 0 ? [...(await actionsOf(name, text)), ...flags] : flags
}

async function actionsOf(name: string, text: string): Promise<string[]> {
  if (name === 'open') return Object.keys((await import('./open.ts')).pages)
  // Lines of actions are indented by two spaces: `  use <name>     use another login`.
  const listed = [...text.matchAll(/^ {2}(?:vpn )?([a-z]+)(?= {2,}| [<[]| --)/gm)].map(([, action]) => action!)
  const inUsage = new RegExp(`^usage: waypost ${name} ([a-z]+) `).exec(text)?.[1]
  return [...listed, ...(inUsage === undefined ? [] : [inUsage])].filter((action) => action !== name)
}
