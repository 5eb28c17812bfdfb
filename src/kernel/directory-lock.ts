/** Locks the data directory, so that only one Waypost process uses it. */
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/** Creates a directory level by level, because Node's recursive mkdir never returns for an impossible path, such as a path below /proc. */
function createDirectory(path: string) {
  const exists = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  if (exists()) return
  if (dirname(path) !== path) createDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!exists()) throw error // If the directory exists now, another process created it first.
  }
}

/**
 * Locks a directory for this process with SQLite's fcntl lock on an empty file. The operating system releases the lock when the process
 * dies. Only SQLite may open the file `lock`, because closing any other descriptor of this file releases the lock. Therefore the pid is in
 * a separate file.
 */
export function lockDirectory(directory: string): { release(): void } {
  const path = resolve(directory)
  const lockFile = join(path, 'lock')
  const pidFile = join(path, 'lock.pid')
  let database: DatabaseSync | undefined
  try {
    createDirectory(path)
    database = new (loadSqlite().DatabaseSync)(lockFile)
    chmodSync(lockFile, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (error) {
    if (database?.isOpen) database.close()
    throw isBusy(error) ? inUseError(path, pidFile) : unusableError(path, error)
  }
  const lock = database
  openLocks.add(lock)
  return {
    release() {
      if (!openLocks.delete(lock)) return
      // The pid file is removed while this process holds the lock. Afterwards the file may belong to the next holder.
      rmSync(pidFile, { force: true })
      lock.close()
    },
  }
}

// The set keeps the database objects from being garbage collected, which would release the locks.
const openLocks = new Set<DatabaseSync>()

const SQLITE_BUSY = 5

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY
}

function inUseError(path: string, pidFile: string): Error {
  let holder = ''
  try {
    holder = ` (pid ${readFileSync(pidFile, 'utf8').trim()})`
  } catch {}
  return new Error(
    `The data directory ${path} is in use by another Waypost process${holder}. ` +
      'Stop that process first, or choose another directory.',
  )
}

function unusableError(path: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(
    `The data directory ${path} cannot be used: ${reason}. It has to be a directory that this user can write to.`,
    { cause },
  )
}

/**
 * Loads SQLite on first use. Versions of Node before about 24.15 print a warning that SQLite is experimental. The warning is suppressed
 * during this synchronous load only.
 */
function loadSqlite(): typeof import('node:sqlite') {
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
