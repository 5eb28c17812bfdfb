import { homedir } from 'node:os'
import { join } from 'node:path'
import { userFolder } from '../../config.ts'

/** Returns the folder of the logins of the command line. */
export const userDirectory = () => join(userFolder() ?? join(homedir(), '.config'), 'waypost')
