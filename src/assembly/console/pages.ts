/** The HTML of the web console: the page that loads the app, and pages that are shown while there is no build. */
import type { Manifest } from './manifest.ts'

/** The content security policy. It allows only scripts of the platform. Styles may be inline, because the editor creates style elements. */
export const consolePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const head = (base: string, title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${base}/assets/icon.svg" type="image/svg+xml">`

/** Returns the page that loads the app. `baseUrl` is the public address; the app calls no other address. */
export function shellPage({ script, imports, style, worker }: Manifest, baseUrl: string, version: string): string {
  const base = escapeHtml(pathOf(baseUrl))
  return `${head(base, 'Waypost')}
<meta name="waypost-base" content="${escapeHtml(baseUrl)}">
<meta name="waypost-version" content="${escapeHtml(version)}">
<meta name="waypost-worker" content="${base}/console/@/${worker}">
<link rel="stylesheet" href="${base}/console/@/${style}">
${imports.map((name) => `<link rel="modulepreload" href="${base}/console/@/${name}">`).join('\n')}
<script type="module" src="${base}/console/@/${script}"></script>
</head>
<body>
<div id="app"><noscript>The Waypost console needs JavaScript. The API and the command line do not.</noscript></div>
</body>
</html>
`
}

const notice = (baseUrl: string, title: string, more: string, body: string) => {
  const base = escapeHtml(pathOf(baseUrl))
  return `${head(base, title)}
<link rel="stylesheet" href="${base}/assets/style.css">
${more}
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`
}

export const buildingPage = (baseUrl: string) =>
  notice(
    baseUrl,
    'The console is being built',
    '<meta http-equiv="refresh" content="1">',
    '<p role="status">This happens once after an installation or upgrade and takes a few seconds. The page opens by itself. ' +
      'The API is ready.</p>',
  )

export const failedPage = (baseUrl: string, reason: string) =>
  notice(
    baseUrl,
    'The console could not be built',
    '',
    `<p>The API and the command line are not affected. The log of the platform has the same message. A restart of the platform builds the
console again.</p>
<pre>${escapeHtml(reason)}</pre>
<p><a href="${escapeHtml(pathOf(baseUrl))}/docs">API reference</a></p>`,
  )

/** Returns the path of the public address, without a slash at the end. */
export const pathOf = (baseUrl: string) => new URL(baseUrl).pathname.replace(/\/+$/, '')
