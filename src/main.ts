/** Runs the command that the first argument names, or an operation of the API: `waypost endpoints list`. */
import { commands } from './cli/commands.ts'
import { ConfigurationError } from './kernel/settings.ts'

async function usage(): Promise<string> {
  const { nounLines } = await import('./cli/api/nouns.ts')
  return [
    'usage: waypost <command>',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`),
    '',
    'Every operation of the API is a command too: waypost <noun> <verb>, such as waypost endpoints list. The nouns:',
    '',
    ...nounLines(),
    '',
    'waypost help <command or noun> shows more.',
    '',
  ].join('\n')
}

async function main(argv: string[]): Promise<number> {
  const [name = 'help'] = argv
  if (['--version', '-v', 'version'].includes(name)) {
    const { version } = await import('./assembly/version.ts')
    process.stdout.write(`${version}\n`)
    return 0
  }
  const isHelp = ['help', '--help', '-h'].includes(name)
  const end = argv.indexOf('--')
  const asksForHelp =
    isHelp || argv.slice(0, end < 0 ? undefined : end).some((word) => word === '--help' || word === '-h')
  const words = isHelp ? argv.slice(1) : argv
  if (words.length === 0) {
    process.stdout.write(await usage())
    return 0
  }
  try {
    return await runWords(words, asksForHelp)
  } catch (error) {
    return await explainFailure(error)
  }
}

async function runWords([name, ...args]: string[], asksForHelp: boolean): Promise<number> {
  const command = Object.hasOwn(commands, name!) ? commands[name!] : undefined
  const isOperation = command?.verbs !== undefined && args[0] !== undefined && !command.verbs.includes(args[0])
  if (!command || isOperation) {
    const { runOperation } = await import('./cli/api/main.ts')
    return await runOperation([name!, ...args], asksForHelp, Object.keys(commands))
  }
  if (asksForHelp) {
    process.stdout.write((await command.load()).usage ?? `usage: waypost ${name}\n\n${command.summary}\n`)
    return 0
  }
  if (args.length > 0 && !command.takesArguments) {
    process.stderr.write(`waypost: ${name} takes no arguments\n`)
    return 2
  }
  return await (await command.load()).run(args, commands)
}

/** Prints a failure that needs no stack trace, and returns its exit code. Other errors are thrown. */
async function explainFailure(error: unknown): Promise<number> {
  if (error instanceof ConfigurationError || isArgumentError(error)) {
    process.stderr.write(`waypost: ${error.message}\n`)
    return 2
  }
  if (isSystemError(error)) {
    process.stderr.write(`waypost: ${error.message}\n`)
    return 1
  }
  if (isTooDeep(error)) {
    process.stderr.write('waypost: the data is nested too deeply\n')
    return 1
  }
  if (!(error instanceof Error) || !['CommandError', 'WaypostError'].includes(error.name)) throw error
  const { exitCodeOf, explain } = await import('./cli/api/errors.ts')
  process.stderr.write(explain(error))
  return exitCodeOf(error)
}

/** Returns whether parseArgs of node:util rejected an option. */
const isArgumentError = (error: unknown): error is Error =>
  String((error as { code?: unknown } | null)?.code).startsWith('ERR_PARSE_ARGS_')

/** Returns whether a value was nested so deeply that the stack was too small for it, for example in the answer of another server. */
const isTooDeep = (error: unknown) => error instanceof RangeError && error.message.includes('call stack')

/** Returns whether the operating system rejected a call, for example because a file cannot be written. The message names the file. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string'

// `waypost config | head` closes the pipe early, which is not an error. A full disk is an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`waypost: the output could not be written: ${error.message}\n`)
  process.exit(1)
})
// If the program that reads the messages has ended, the exit code is still the exit code of the command.
process.stderr.on('error', () => {})

process.exitCode = await main(process.argv.slice(2))
