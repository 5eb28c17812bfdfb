// Resolves imports of the TypeScript files of the project. Such an import always contains the full file name, so no search is needed. The
// resolver of Node.js checks each file, its links and the package.json above it, which takes a sixth of the processor time of a start.
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return next(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
  },
})
