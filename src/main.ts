/** Runs the command of the first argument. A command is loaded when it is used, so that `waypost config` stays fast. */
import { ConfigurationError } from './kernel/settings.ts'

interface Command {
  summary: string
  /** True if the command accepts arguments and options; the others reject them. */
  takesArguments?: true
  load(): Promise<{ run(args: string[]): Promise<number>; usage?: string }>
}

const commands: Record<string, Command> = {
  start: { summary: 'run the platform', load: () => import('./cli/start.ts') },
  migrate: { summary: 'upgrade the database to this version', load: () => import('./cli/migrate.ts') },
  backup: {
    takesArguments: true,
    summary: 'write a backup to a file: waypost backup <file>',
    load: () => import('./cli/backup.ts'),
  },
  restore: {
    takesArguments: true,
    summary: 'restore a backup: waypost restore <file>',
    load: () => import('./cli/restore.ts'),
  },
  doctor: { summary: 'check the installation and say what to do', load: () => import('./cli/doctor.ts') },
  user: { takesArguments: true, summary: 'manage users: waypost user list', load: () => import('./cli/user.ts') },
  key: {
    takesArguments: true,
    summary: 'manage API keys and signing keys: waypost key list',
    load: () => import('./cli/key.ts'),
  },
  simulate: {
    takesArguments: true,
    summary: 'run simulated devices against the platform: waypost simulate --devices 10',
    load: () => import('./cli/simulate.ts'),
  },
  vpn: {
    takesArguments: true,
    summary: 'run the VPN server beside the platform; waypost vpn config prints its configuration',
    load: () => import('./cli/vpn.ts'),
  },
  rules: {
    takesArguments: true,
    summary: 'try a rule on an event without effects: waypost rules try <file> --event <file>',
    load: () => import('./cli/rules.ts'),
  },
  pipeline: {
    takesArguments: true,
    summary: 'try an ingest pipeline: waypost pipeline simulate <file>',
    load: () => import('./cli/pipeline.ts'),
  },
  lorawan: {
    takesArguments: true,
    summary: 'try a payload formatter: waypost lorawan decode <codec> --bytes <hex> --port 1',
    load: () => import('./cli/lorawan.ts'),
  },
  config: { summary: 'show the effective settings and their origin', load: () => import('./cli/config.ts') },
  openapi: { takesArguments: true, summary: 'print the API reference', load: () => import('./cli/openapi.ts') },
}

const usage = () =>
  [
    'usage: waypost <command>',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`),
    '',
  ].join('\n')

async function unknownCommandText(name: string): Promise<string> {
  const { closest } = await import('fastest-levenshtein')
  return `waypost: there is no command ${name}; the nearest is ${closest(name, Object.keys(commands))}`
}

async function main([name = 'help', ...args]: string[]): Promise<number> {
  if (['--version', '-v', 'version'].includes(name)) {
    const { version } = await import('./assembly/version.ts')
    process.stdout.write(`${version}\n`)
    return 0
  }
  const asksForHelp = ['help', '--help', '-h'].includes(name)
  const command = commands[asksForHelp ? (args[0] ?? '') : name]
  if (!command) {
    process[asksForHelp ? 'stdout' : 'stderr'].write(
      asksForHelp ? usage() : `${await unknownCommandText(name)}\n\n${usage()}`,
    )
    return asksForHelp ? 0 : 2
  }
  if (asksForHelp || args.includes('--help') || args.includes('-h')) {
    process.stdout.write(
      (await command.load()).usage ?? `usage: waypost ${asksForHelp ? args[0] : name}\n\n${command.summary}\n`,
    )
    return 0
  }
  if (args.length > 0 && !command.takesArguments) {
    process.stderr.write(`waypost: ${name} takes no arguments\n`)
    return 2
  }
  try {
    return await (await command.load()).run(args)
  } catch (error) {
    if (error instanceof ConfigurationError || isArgumentError(error)) {
      process.stderr.write(`waypost: ${error.message}\n`)
      return 2
    }
    throw error
  }
}

/** Returns whether parseArgs of node:util rejected an option. */
const isArgumentError = (error: unknown): error is Error =>
  String((error as { code?: unknown } | null)?.code).startsWith('ERR_PARSE_ARGS_')

// `waypost config | head` closes the pipe early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await main(process.argv.slice(2))
