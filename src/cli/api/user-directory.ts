import { homedir } from 'node:os'
import { join } from 'node:path'
import { userFolder } from '../../command-line-config.ts'

/** Returns the folder in which the command line keeps its logins. */
export const userDirectory = () => join(userFolder() ?? join(homedir(), '.config'), 'waypost')
