// This file is JavaScript, so that Node.js does not load its type stripper before the compile cache is enabled. The cache halves
// the processor time of a start. If the folder of the cache cannot be written, the platform starts without the cache.
import { enableCompileCache } from 'node:module'
import './resolve.mjs'

enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/waypost`)
await import('../src/main.ts')
