// Plain JavaScript, so that nothing has to be stripped before the compile cache is on: with it, a start takes half the
// processor time, and the stripper is not even loaded. Where the folder cannot be written, everything works as before.
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/waypost', import.meta.url)))
await import('../src/main.ts')
