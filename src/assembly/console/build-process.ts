/** Builds the console in a separate process with low priority: `node build-process.ts <folder>`. */
import { mkdir, rename, rm } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { bundleConsole } from './bundle.ts'

const lowPriority = 10
const directory = process.argv[2]!
// esbuild runs in a child process, which inherits the priority.
setPriority(lowPriority)
const unfinished = `${directory}.${process.pid}`
try {
  await mkdir(dirname(directory), { recursive: true })
  await bundleConsole(unfinished)
  await rename(unfinished, directory).catch(async (error: NodeJS.ErrnoException) => {
    // Another process has finished the same build.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
} finally {
  await rm(unfinished, { recursive: true, force: true })
}
