/**
 * `npm run sdk:check`: installs the packed SDK with TypeScript 5.9 and 7, and Node.js 20, 22 and 24, from the registry into a temporary
 * folder. It checks the types with each compiler, and calls a server with each Node.js.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSdkProject, packSdk, typeErrors, worlds } from './sdk/package.ts'

const runtime = `node-${process.platform}-${process.arch}`
const packages = [
  'typescript-5@npm:typescript@5.9',
  'typescript-7@npm:typescript@7',
  ...[20, 22, 24].map((version) => `node-${version}@npm:${runtime}@${version}`),
  '@types/node@24',
]

const program = `import { createClient, WaypostError } from '@waypost/sdk'
const client = createClient({ url: process.env.SERVER, auth: { apiKey: 'key' } })
const ids = []
for await (const { endpointId } of client.endpoints.list({ limit: 2 })) ids.push(endpointId)
const failed = await client.me.get({}, { attempts: 1 }).catch((error) => error instanceof WaypostError && error.status)
const file = await client.files.download({ appName: 'a', endpointId: 'e', filename: 'f' })
console.log(process.version, ids.join(), failed, await new Response(file.body).text())
`

const endpointIds = ['a', 'b', 'c']
const folder = mkdtempSync(join(tmpdir(), 'waypost-sdk-'))
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url!, 'http://host')
  if (pathname.endsWith('/me')) return response.writeHead(404).end('{"message": "none"}')
  if (pathname.includes('/files/')) return response.end('bytes')
  const position = Number(searchParams.get('cursor') ?? 0)
  const content = endpointIds.slice(position, position + 2).map((endpointId) => ({ endpointId }))
  const next = position + 2 < endpointIds.length ? { nextCursor: String(position + 2) } : {}
  const page = { totalElements: endpointIds.length, content, ...next }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
})
let failed = false
const report = (checkName: string, isGood: boolean, details = '') => {
  console.log(`${isGood ? 'ok    ' : 'FAILED'} ${checkName}${details === '' ? '' : `: ${details}`}`)
  if (!isGood) failed = true
}

try {
  const project = createSdkProject(folder, packSdk(folder))
  // The tools are installed in a separate folder, because npm would remove the SDK, which it did not install.
  const installed = join(folder, 'tools')
  writeFileSync(join(project, 'main.mjs'), program)
  execFileSync('npm', ['install', '--prefix', installed, '--no-audit', '--no-fund', '--ignore-scripts', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  execFileSync('cp', [
    '-r',
    ...['@types', 'undici-types'].map((name) => join(installed, 'node_modules', name)),
    join(project, 'node_modules'),
  ])
  for (const version of [5, 7])
    for (const world of Object.keys(worlds) as (keyof typeof worlds)[]) {
      const errors = typeErrors(project, world, join(installed, `node_modules/typescript-${version}/bin/tsc`))
      report(`TypeScript ${version}, types of a ${world}`, errors === '', errors)
    }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const env = { PATH: process.env.PATH, SERVER: `http://127.0.0.1:${(server.address() as { port: number }).port}` }
  for (const version of [20, 22, 24]) {
    const folder = join(installed, `node_modules/node-${version}`)
    const node = join(folder, readdirSync(folder).includes('bin') ? 'bin/node' : 'node')
    const { stdout } = await promisify(execFile)(node, ['main.mjs'], { cwd: project, env })
    report(
      `Node.js ${version}`,
      stdout.startsWith(`v${version}.`) && stdout.endsWith('a,b,c 404 bytes\n'),
      stdout.trim(),
    )
  }
} finally {
  server.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)
