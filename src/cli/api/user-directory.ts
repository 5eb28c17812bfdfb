import { join } from 'node:path'
import { userFolder } from '../../command-line-config.ts'

/** Returns the folder in which the command line keeps its logins. */
export const userDirectory = () =>
  join(userFolder() ?? join(process.getBuiltinModule('node:os').homedir(), '.config'), 'waypost')
