import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/** Level by level: Node's own recursive mkdir never returns for a path that cannot be, such as one below /proc. */
function makeDirectory(path: string) {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  if (isThere()) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!isThere()) throw error // else another process was quicker
  }
}

/**
 * Holds a directory for this process. The hold is an fcntl lock, so the operating system lets go of it when the process
 * dies, however it dies; a zombie holds nothing, and children do not inherit it. Node has no flock of its own; SQLite,
 * which is inside Node, takes such a lock on an empty file.
 *
 * Trap: an fcntl lock is lost as soon as ANY descriptor of that file is closed by the process. Nothing but SQLite may
 * open `lock`; the pid, which is for the message only, is therefore in a file of its own.
 */
export function lockDirectory(directory: string): { release(): void } {
  const path = resolve(directory)
  const lockFile = join(path, 'lock')
  const pidFile = join(path, 'lock.pid')
  let database: DatabaseSync | undefined
  try {
    makeDirectory(path)
    database = new (sqlite().DatabaseSync)(lockFile)
    chmodSync(lockFile, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (error) {
    if (database?.isOpen) database.close()
    throw isBusy(error) ? inUse(path, pidFile) : unusable(path, error)
  }
  const hold = database
  held.add(hold)
  return {
    release() {
      if (!held.delete(hold)) return
      // While we still hold the lock: afterwards the file may already be the next holder's.
      rmSync(pidFile, { force: true })
      hold.close()
    },
  }
}

// A database that is only reachable through a dropped `release` would be collected, and its lock with it.
const held = new Set<DatabaseSync>()

const SQLITE_BUSY = 5

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY
}

function inUse(path: string, pidFile: string): Error {
  let holder = ''
  try {
    holder = ` (pid ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {}
  return new Error(
    `The data directory ${path} is in use by another Waypost process${holder}. ` +
      'Stop that process first, or choose another directory.',
  )
}

function unusable(path: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(
    `The data directory ${path} cannot be used: ${reason}. It has to be a directory that this user can write to.`,
    { cause },
  )
}

/**
 * Loads SQLite on first use. Node before 24.15 or so announces it as experimental on stderr; that one warning is kept
 * back, by catching it during this (synchronous) load only.
 */
function sqlite(): typeof import('node:sqlite') {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith('SQLite is an experimental feature'))
      Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
