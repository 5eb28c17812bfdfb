/** Several test files in one process, one after the other: what they all import is read and compiled once (tools/test.ts). */
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { putAway, sharing } from './database.ts'

sharing.aProcess = true

export async function together(files: string[]): Promise<void> {
  for (const file of files) {
    const loading = import(pathToFileURL(file).href)
    await loading.catch((error) => void test(file, () => Promise.reject(error)))
    // The tests of a process run in the order in which they are declared: this one is the last of its file.
    await test(`${file} puts away what it opened`, putAway)
  }
}
