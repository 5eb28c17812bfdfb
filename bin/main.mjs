// This file is JavaScript, so that Node.js does not load its type stripper before the compile cache is enabled. The cache halves
// the processor time of a start. If its folder cannot be written, the platform starts without it.
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import './resolve.mjs'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/waypost', import.meta.url)))
await import('../src/main.ts')
