/** The pages at `/status` and `/docs`: links, the health of the platform, and the API reference. They use no external assets. */
import { createReadStream, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { HealthReport } from '../kernel/health.ts'
import { openapi } from '../kernel/http/openapi.ts'
import type { Reply } from '../kernel/http/routes.ts'
import { sendSlices } from '../kernel/http/send.ts'
import type { HttpServer } from '../kernel/http/server.ts'
import { escapeHtml, pathOf } from './console/pages.ts'
import { version } from './version.ts'

export const apiDocument = (http: HttpServer, baseUrl: string) =>
  openapi(http.operations, { baseUrl, version, apis: http.apis })

const securityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const page = (title: string, head: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${head}
${body}
</html>
`

const logo =
  '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round" xmlns="http://www.w3.org/2000/svg">' +
  '<path d="M12 2v3M12 12v10M5 5h12l3 3.5L17 12H5z"/></svg>'

/**
 * Returns the page of the API reference. `signIn` is the path of the script that signs the user in. Without a build of the console there is
 * no such script; the user then enters a token with Authorize.
 */
const docsPage = (baseUrl: string, signIn: string | undefined) =>
  page(
    'Waypost API reference',
    `<meta name="waypost-base" content="${escapeHtml(baseUrl)}">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="/docs/assets/docs.css">`,
    `<div id="session" role="status"></div>
<div id="reference"></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/docs.js"></script>${
      signIn === undefined ? '' : `\n<script type="module" src="${escapeHtml(signIn)}"></script>`
    }`,
  )

function frontPage({ status, checks }: HealthReport): string {
  const rows = checks.map(
    ({ name, ok, ms }) =>
      `<tr><th scope="row">${name}</th><td class="${ok ? 'ok' : 'bad'}">${ok ? `ok (${ms} ms)` : 'failing'}</td></tr>`,
  )
  return page(
    'Waypost',
    '<link rel="stylesheet" href="/assets/style.css">',
    `<main>
<h1>${logo}Waypost</h1>
<p>Version ${version}. The platform is <span class="${status === 'ready' ? 'ok' : 'bad'}">${status}</span>.</p>
<nav>
<a href="/console"><strong>Console</strong><span>manage devices, data and users in the browser</span></a>
<a href="/docs"><strong>API reference</strong><span>all operations; you can try each one</span></a>
<a href="/openapi.json"><strong>OpenAPI document</strong><span>for code generators and API clients</span></a>
<a href="/auth/realms/default/.well-known/openid-configuration"><strong>Identity provider</strong><span>OpenID Connect discovery document of the tenant “default”</span></a>
</nav>
<table>${rows.join('')}</table>
</main>`,
  )
}

const sendPage = (reply: Reply, text: string) =>
  reply.type('text/html; charset=utf-8').header('content-security-policy', securityPolicy).send(text)

const types: Record<string, string> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }

export interface FrontPagesPlatform {
  baseUrl(): string
  report(): Promise<HealthReport>
  /**
   * Returns the name of the console's script that signs the user in on the page of the API reference. Undefined while the console is not
   * built.
   */
  referenceScript(): Promise<string | undefined>
}

export function mountFrontPages(http: HttpServer, platform: FrontPagesPlatform) {
  const { app } = http
  const compressed = http.compression ? { onSend: http.compression.onSend } : {}
  const pagesDirectory = new URL('./pages/', import.meta.url)
  const swagger = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
  const mountPage = (path: string, text: () => Promise<string> | string) =>
    app.get(path, async (_, reply) => sendPage(reply, await text()))
  // Assets are read from disk on each request, because such requests are rare.
  const mountAsset = (path: string, read: () => string | Buffer | Readable) =>
    app.get(path, compressed, (_, reply) =>
      reply
        .type(`${types[path.split('.').at(-1)!]}; charset=utf-8`)
        .header('cache-control', 'public, max-age=3600')
        .header('x-content-type-options', 'nosniff')
        .send(read()),
    )

  let document: Buffer | undefined
  app.get('/openapi.json', compressed, (_, reply) => {
    document ??= Buffer.from(JSON.stringify(apiDocument(http, platform.baseUrl())))
    reply.type('application/json; charset=utf-8').header('access-control-allow-origin', '*')
    return sendSlices(reply, document)
  })
  mountPage('/status', async () => frontPage(await platform.report()))
  // Browsers are redirected to the console; other clients, such as curl and monitors, get the status page.
  app.get('/', async (request, reply) => {
    if (request.headers.accept?.includes('text/html'))
      return reply.redirect(`${pathOf(platform.baseUrl())}/console`, 302)
    return sendPage(reply, frontPage(await platform.report()))
  })
  mountPage('/docs', async () => {
    const script = await platform.referenceScript()
    const baseUrl = platform.baseUrl()
    return docsPage(baseUrl, script && `${pathOf(baseUrl)}/console/@/${script}`)
  })
  mountAsset('/assets/style.css', () => readFileSync(new URL('style.css', pagesDirectory)))
  mountAsset('/assets/icon.svg', () => logo.replace('currentColor', '#0b6e5f'))
  mountAsset('/docs/assets/docs.css', () => readFileSync(new URL('docs.css', pagesDirectory)))
  mountAsset('/docs/assets/docs.js', () => readFileSync(new URL('docs.js', pagesDirectory)))
  // These files are large, so they are streamed: a client that does not read a file then takes little memory.
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js'])
    mountAsset(`/docs/assets/${file}`, () => createReadStream(join(swagger, file)))
}
