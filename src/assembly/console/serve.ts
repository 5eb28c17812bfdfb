/** Serves the web console: its files below `/console/@/`, and the page that loads the app at every other path below `/console`. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { HttpServer } from '../../kernel/http/server.ts'
import type { RespondToPath } from '../../kernel/http/unreadable-requests.ts'
import { version } from '../version.ts'
import type { Console } from './console.ts'
import { type BuiltFile, type Encoding, suffixes } from './manifest.ts'
import { buildingPage, consolePolicy, failedPage, shellPage } from './pages.ts'

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': consolePolicy,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  // Old browsers support this header, but not `frame-ancestors` in the content security policy.
  'x-frame-options': 'DENY',
}

export function mountConsole({ app, unreadablePaths }: HttpServer, console: Console, baseUrl: () => string) {
  const sendPage: RespondToPath = async (reply) => {
    const state = await console.state()
    reply.headers(pageHeaders)
    if (state.kind === 'ready') return reply.send(shellPage(state.manifest, baseUrl(), version))
    reply.code(503)
    if (state.kind === 'failed') return reply.send(failedPage(baseUrl(), state.reason))
    return reply.header('retry-after', '1').send(buildingPage(baseUrl()))
  }
  for (const path of ['/console', '/console/*', '/console/@/signed-in']) app.get(path, (_, reply) => sendPage(reply))
  // The page says that there is no such page.
  unreadablePaths.set('/console/', sendPage)

  // An open page polls this path to find out whether the platform has a newer console.
  app.get('/console/@/build.json', async (_, reply) => {
    const state = await console.state()
    const script = state.kind === 'ready' ? state.manifest.script : null
    return reply.header('cache-control', 'no-store').type('application/json; charset=utf-8').send({ script, version })
  })

  app.get('/console/@/:file', async (request, reply) => {
    const { file } = request.params as { file: string }
    const found = await console.find(file)
    if (!found) return reply.code(404).headers(missing).send('This file belongs to another build of the console.\n')
    const { directory, built } = found
    const encoding = chooseEncoding(built, request.headers['accept-encoding'])
    const handle = await open(join(directory, file + suffixes[encoding])).catch(() => undefined)
    if (!handle) return reply.code(404).headers(missing).send('This file of the console was deleted.\n')
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply
      .headers({
        'content-type': built.type,
        'content-length': built.sizes[encoding]!,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        vary: 'Accept-Encoding',
      })
      .send(handle.createReadStream())
  })
}

const missing = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }

/** Returns the smallest encoding that the browser accepts. */
function chooseEncoding({ sizes }: BuiltFile, accepted = ''): Encoding {
  const accepts = new Set(
    accepted
      .split(',')
      .map((one) => one.trim().toLowerCase())
      .filter((one) => !/;\s*q=0(?:\.0*)?$/.test(one))
      .map((one) => one.split(';')[0]!.trim()),
  )
  if (sizes.br !== undefined && accepts.has('br')) return 'br'
  if (sizes.gzip !== undefined && accepts.has('gzip')) return 'gzip'
  return 'identity'
}
