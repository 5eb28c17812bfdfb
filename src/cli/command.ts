/** The form of a command. */

export interface Command {
  summary: string
  /** True if the command accepts arguments and options. Other commands reject them. */
  takesArguments?: true
  /** Verbs of the command, if its name is also a noun of the API. All other verbs are operations. */
  verbs?: string[]
  load(): Promise<{ run(args: string[], commands: Commands): Promise<number>; usage?: string }>
}

/** The commands by name. */
export type Commands = Record<string, Command>
