/** Runs several test files in one process, one after the other: what they all import is read and compiled once. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runCleanups, sharedProcess } from './database.ts'
import { fileFinished, fileStarted, sharedDirectoryVariable, sharedFilesPath } from './timings.ts'

sharedProcess.enabled = true

/** Takes files from the list of the run until none is left. */
export async function runSharedFiles(): Promise<void> {
  const directory = process.env[sharedDirectoryVariable]!
  const files = JSON.parse(readFileSync(sharedFilesPath(directory), 'utf8')) as string[]
  for (const [index, file] of files.entries()) {
    if (!claim(join(directory, `taken-${index}`))) continue
    fileStarted(directory, file)
    const name = relative(process.cwd(), file)
    const loading = import(pathToFileURL(file).href)
    await loading.catch((error) => void test(name, () => Promise.reject(error)))
    // The tests of a process run in the order in which they are declared: this one is the last of its file.
    await test(`${name} puts away what it opened`, runCleanups)
    fileFinished()
  }
}

/** A directory is made by one process only. */
function claim(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
