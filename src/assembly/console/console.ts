/** Provides a build of the web console: a given build, the cached build of the same sources, or a new build by a child process. */
import { execFile } from 'node:child_process'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../kernel/log.ts'
import { consoleBuildFailed } from '../log-messages.ts'
import { type BuiltFile, type Manifest, readManifest } from './manifest.ts'
import { hashSources, projectDirectory } from './sources.ts'

export type ConsoleState =
  | { kind: 'building' }
  | { kind: 'ready'; directory: string; manifest: Manifest }
  | { kind: 'failed'; reason: string }

export interface FoundFile {
  directory: string
  built: BuiltFile
}

export interface Console {
  /** Finds or starts the build. Call it after the platform is ready, so that the build does not slow the start. */
  prepare(): Promise<void>
  /** Returns the state of the build, which determines the response to a request. */
  state(): Promise<ConsoleState>
  /** Finds a file of the current build, or of an older build that is still cached, for pages that were opened before an upgrade. */
  find(name: string): Promise<FoundFile | undefined>
  /** Ends a build that is running. */
  stop(): void
}

export interface ConsoleOptions {
  /** Folder with a ready-made build. If undefined, the cached build of the sources is used, or a new build is made. */
  directory: string | undefined
  /** True if the sources are compared with the build whenever a page is requested. */
  watch: boolean
  /** The folder for builds that is used if the folder below node_modules is not writable. */
  fallbackDirectory: string
  log: Log
}

/** Maximum number of builds that are kept for running processes of other versions. Older builds are deleted. */
const buildsMax = 4
const buildScript = fileURLToPath(new URL('./build-process.ts', import.meta.url))

export function createConsole(options: ConsoleOptions): Console {
  const stopping = new AbortController()
  let state: ConsoleState = { kind: 'building' }
  let preparing: Promise<void> | undefined
  let hash: string | undefined

  async function prepare() {
    try {
      if (options.directory !== undefined) return await load(options.directory)
      const current = await hashSources()
      if (current === hash && state.kind === 'ready') return
      hash = current
      const folder = cacheFolder(options.fallbackDirectory)
      const directory = join(folder, current)
      if (await exists(directory)) return await load(directory)
      state = { kind: 'building' }
      await runBuild(directory, stopping.signal)
      await load(directory)
      await deleteOldBuilds(folder)
    } catch (error) {
      if (stopping.signal.aborted) return
      state = { kind: 'failed', reason: (error as Error).message }
      consoleBuildFailed(options.log, { err: error })
    }
  }

  async function load(directory: string) {
    state = { kind: 'ready', directory, manifest: await readManifest(directory) }
  }

  async function find(name: string): Promise<FoundFile | undefined> {
    if (state.kind === 'ready') {
      const found = fileIn(state.directory, state.manifest, name)
      if (found || options.directory !== undefined) return found
    }
    if (options.directory !== undefined || !builtName.test(name)) return undefined
    const folder = cacheFolder(options.fallbackDirectory)
    for (const build of await readdir(folder).catch(() => [])) {
      const directory = join(folder, build)
      const manifest = await readManifest(directory).catch(() => undefined)
      const found = manifest && fileIn(directory, manifest, name)
      if (found) return found
    }
    return undefined
  }

  /** Prepares the files, unless a preparation is already running. */
  function prepareOnce(): Promise<void> {
    preparing ??= prepare().finally(() => {
      preparing = undefined
    })
    return preparing
  }

  return {
    prepare: prepareOnce,
    async state() {
      if (options.watch && state.kind !== 'building') {
        const known = hash
        if (options.directory === undefined && (await hashSources()) !== known) {
          state = { kind: 'building' }
          void prepareOnce()
        }
      }
      return state
    },
    find,
    stop: () => stopping.abort(),
  }
}

/** Matches the names of built files, which contain a hash. */
const builtName = /^[\w.-]+-[A-Z0-9]{8}\.\w+/

const fileIn = (directory: string, { files }: Manifest, name: string): FoundFile | undefined =>
  Object.hasOwn(files, name) ? { directory, built: files[name]! } : undefined

const exists = (directory: string) =>
  readManifest(directory).then(
    () => true,
    () => false,
  )

/** Returns a writable folder for builds: below node_modules, or else `fallback`. In a container image, node_modules may be read-only. */
export function cacheFolder(fallback: string): string {
  const cache = join(projectDirectory, 'node_modules/.cache/waypost-console')
  try {
    mkdirSync(cache, { recursive: true })
    accessSync(cache, constants.W_OK)
    return cache
  } catch {
    return fallback
  }
}

/**
 * A build takes seconds. It has a low priority, so on a machine that is busy with other work it can take minutes. The limit only ends a
 * build that hangs.
 */
const buildLimitMs = 15 * 60_000

export function runBuild(directory: string, signal: AbortSignal, limitMs = buildLimitMs): Promise<void> {
  return new Promise((resolve, reject) => {
    const command = [buildScript, directory]
    const child = execFile(process.execPath, command, { signal, timeout: limitMs }, (error, _stdout, stderr) => {
      if (!error) return resolve()
      const isLate = child.killed && !signal.aborted
      const late = `The build was ended because it took longer than ${Math.round(limitMs / 1000)} seconds. Is the machine very busy?`
      reject(new Error(isLate ? late : stderr.trim() || error.message, { cause: error }))
    })
  })
}

async function deleteOldBuilds(folder: string) {
  const names = await readdir(folder)
  const times = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).mtimeMs))
  const old = names.toSorted((a, b) => times[names.indexOf(b)]! - times[names.indexOf(a)]!).slice(buildsMax)
  for (const name of old) await rm(join(folder, name), { recursive: true, force: true })
}
