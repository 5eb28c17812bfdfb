/** Runs several test files in sequence in one process, so that common modules are loaded and compiled once. */
import { mkdirSync, readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runCleanups, sharedProcess } from './database.ts'
import { fileFinished, fileStarted, sharedDirectoryVariable, sharedFilesPath } from './timings.ts'

sharedProcess.enabled = true

/** Runs files from the list of the test run until none is left. */
export async function runSharedFiles(): Promise<void> {
  const directory = process.env[sharedDirectoryVariable]!
  const files = JSON.parse(readFileSync(sharedFilesPath(directory), 'utf8')) as string[]
  for (const [index, file] of files.entries()) {
    if (!claim(join(directory, `taken-${index}`))) continue
    fileStarted(directory, file)
    const name = relative(process.cwd(), file)
    const loading = import(pathToFileURL(file).href)
    await loading.catch((error) => void test(name, () => Promise.reject(error)))
    // Tests run in the order of declaration, so the cleanup is the last test of its file.
    await test(`${name}: cleanup`, runCleanups)
    fileFinished()
    // Write the compiled code of this file to the cache now, because other processes of this test run load most of the same modules.
    flushCompileCache()
  }
}

/** Claims a file for this process: only one process can create the directory. */
function claim(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
