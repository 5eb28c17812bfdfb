/** Packs the SDK as it is published, and installs it in a folder outside of this repository. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
export const compiler = join(root, 'node_modules/typescript/bin/tsc')

const run = (file: string, args: string[], cwd: string) =>
  execFileSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** Builds and packs the SDK in a folder; returns the path of the tarball. */
export function packSdk(folder: string): string {
  const source = join(folder, 'package')
  mkdirSync(source, { recursive: true })
  run(process.execPath, [compiler, '-p', join(root, 'sdk'), '--outDir', join(source, 'dist')], root)
  for (const name of ['package.json', 'README.md']) cpSync(join(root, 'sdk', name), join(source, name))
  cpSync(join(root, 'LICENSE'), join(source, 'LICENSE'))
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--silent'], source)) as [
    { filename: string },
  ]
  return join(source, packed.filename)
}

/** Creates a project with the packed SDK in its node_modules. */
export function createSdkProject(folder: string, tarball: string): string {
  const project = join(folder, 'stranger')
  const installed = join(project, 'node_modules/@waypost/sdk')
  mkdirSync(installed, { recursive: true })
  run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], project)
  writeFileSync(join(project, 'package.json'), '{"name": "stranger", "private": true, "type": "module"}\n')
  writeFileSync(join(project, 'main.ts'), program)
  for (const [name, { lib, types }] of Object.entries(worlds))
    writeFileSync(
      join(project, `tsconfig.${name}.json`),
      JSON.stringify({
        compilerOptions: { ...strict, lib, types },
        files: ['main.ts'],
      }),
    )
  return project
}

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: 'es2022',
  module: 'nodenext',
  noEmit: true,
}

/** Compiler options with the global types of a browser and of Node.js. */
export const worlds = {
  browser: { lib: ['es2023', 'dom', 'dom.iterable'], types: [] as string[] },
  node: { lib: ['es2023'], types: ['node'] },
}

/** A program that uses the types. Lines after @ts-expect-error must be errors. */
const program = `import { createClient, type Endpoint, WaypostError } from '@waypost/sdk'
import { createClientOf } from '@waypost/sdk/core'
import { describe, operationNames } from '@waypost/sdk/descriptions'
import { connect } from '@waypost/sdk/device'
import { finishLogin, startLogin } from '@waypost/sdk/pkce'
import { endpoints, tokens } from '@waypost/sdk/table'

const client = createClient({ url: 'https://waypost.example.com', auth: { apiKey: 'k' } })
const few = createClientOf({ endpoints, tokens }, { url: 'https://waypost.example.com', auth: async () => 'token' })

export async function main(signal: AbortSignal): Promise<Endpoint[]> {
  const found: Endpoint[] = []
  for await (const endpoint of client.endpoints.list({ applicationName: ['a', 'b'], limit: 10 })) found.push(endpoint)
  const total: number | undefined = await few.endpoints.list().total
  const answer = await few.endpoints.get({ endpointId: 'a' }, { signal, ifNoneMatch: '"1"' })
  if (answer.status === 200) found.push(answer.body)
  else if (answer.status === 304) console.log(answer.etag, total)
  const sent = await client.commands.send({ endpointId: 'a', commandType: 'blink', awaitTimeout: 5 })
  if (sent.status === 202) console.log(sent.location)
  // @ts-expect-error endpointId is required
  await client.endpoints.get({})
  // @ts-expect-error there is no such operation
  await client.endpoints.explode()
  // @ts-expect-error the noun was not chosen
  few.assets.list()
  try {
    await client.assets.update({ assetId: 'a', body: { definition: '{}' } }, { ifMatch: '"1"' })
  } catch (error) {
    if (error instanceof WaypostError) console.log(error.status, error.code, error.field, error.correlationId)
  }
  const device = await connect({ url: 'https://host', version: 'a-v1', token: 't', onCommand: ({ payload }) => payload })
  await device.sample({ temperature: 21 })
  for await (const event of client.live({ applicationName: 'a' }, { signal })) if (event.type === 'points') console.log(event.points)
  const login = await startLogin({ url: 'https://host', tenant: 'default', redirectUri: 'https://app/' })
  console.log(await finishLogin(login, 'https://app/?code=1'), operationNames().map(describe))
  return found
}
`

/** Checks the types of the project with a compiler; returns its errors. */
export function typeErrors(project: string, world: keyof typeof worlds, tsc: string = compiler): string {
  try {
    return run(process.execPath, [tsc, '-p', join(project, `tsconfig.${world}.json`)], project)
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error)
  }
}
