import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the folder of the user's own configuration, which holds the logins of the command line. */
export const userDirectory = (environment: NodeJS.ProcessEnv = process.env) =>
  join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'waypost')
