/** A command of the program: its line in the help, and the module that runs it. */

export interface Command {
  summary: string
  /** True if the command accepts arguments and options. Other commands reject them. */
  takesArguments?: true
  /** Verbs of the command, if its name is also a noun of the API. With any other verb, the words name an operation of the API. */
  verbs?: string[]
  load(): Promise<{ run(args: string[], commands: Commands): Promise<number>; usage?: string }>
}

/** The commands by name. */
export type Commands = Record<string, Command>
