/** Logins of the command line. They are named contexts in a file that only the user can read. */
import { join } from 'node:path'
import type { Session } from '../../../sdk/src/auth.ts'
import { monotonicMs, sleep, systemClock } from '../../kernel/clock.ts'
import { CommandError } from './errors.ts'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from './files.ts'
import { userDirectory } from './user-directory.ts'

export type Login = { apiKey: string } | { clientId: string; clientSecret: string } | { session: Session }

export interface Context {
  /** The address of the platform. Requests and credentials are sent only to this address. */
  url: string
  tenant: string
  login?: Login
}

export interface Contexts {
  current?: string
  contexts: Record<string, Context>
}

export const contextsFile = () => join(userDirectory(), 'contexts.json')

export function readContexts(): Contexts {
  const file = contextsFile()
  let text: string
  try {
    // If other users of the machine can read the file, they can use the logins, and may have copied them already.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new CommandError(
        `${file} can be read by other users of this machine, so its logins are not used; run: chmod 600 ${file}`,
      )
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: {} }
    throw error
  }
  try {
    const { current, contexts } = JSON.parse(text) as Contexts
    return { ...(current !== undefined && { current }), contexts: { ...contexts } }
  } catch {
    throw new CommandError(`${file} is not JSON; delete it and log in again`)
  }
}

/** Returns the context with this name. A context can have any name, such as `constructor`. */
export const contextNamed = ({ contexts }: Contexts, name: string | undefined): Context | undefined =>
  name !== undefined && Object.hasOwn(contexts, name) ? contexts[name] : undefined

/** Writes the file atomically, so that a crash leaves either the old or the new file. */
export function writeContexts(contexts: Contexts) {
  const file = contextsFile()
  mkdirSync(userDirectory(), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
  renameSync(temporary, file)
}

const lockWaitMs = 15_000

/** Runs `work`, which changes the file, while no other command changes it. A lock older than a minute is from a crash and is removed. */
export async function withLock<T>(work: () => Promise<T>): Promise<T> {
  const lock = `${contextsFile()}.lock`
  mkdirSync(userDirectory(), { recursive: true, mode: 0o700 })
  const started = monotonicMs()
  while (!take(lock)) {
    if (monotonicMs() - started > lockWaitMs) throw new CommandError(`${lock} is held by another command`)
    await sleep(50)
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function take(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const age = systemClock().getTime() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  if (age > 60_000) rmSync(lock, { recursive: true, force: true })
  return false
}
