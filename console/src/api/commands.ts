/**
 * Writes the request of an operation as text: as a command for curl, as a command of the CLI, and as code for the SDK. This module is
 * loaded on demand.
 */
import type { Arguments } from '../../../sdk/src/types.ts'
import { baseUrl } from './platform.ts'

export interface CommandTexts {
  curl: string
  cli: string
  sdk: string
  /** Scopes that a caller needs. */
  scopes: string[]
}

/** Quotes an argument for a POSIX shell. */
const quote = (text: string) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
const flagOf = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
const wordsOf = (name: string) =>
  name.split('.').map((word) => word.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))

/** Arguments that the command of the CLI leaves out, because the CLI reads all pages by itself. */
const paging = new Set(['offset', 'limit', 'page', 'size', 'cursor'])

export async function commandTexts(name: string, args: Arguments): Promise<CommandTexts> {
  const { describe } = await import('../../../sdk/src/descriptions.ts')
  const operation = describe(name)
  if (!operation) throw new Error(`There is no operation ${name}`)
  const { body, ...parameters } = args
  const presentParameters = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  const placeOf = (key: string) => operation.arguments.find((argument) => argument.name === key)?.in
  const path = operation.path.replace(/\{\+?(\w+)\}/g, (_, key: string) =>
    parameters[key] === undefined ? `<${key}>` : encodeURIComponent(String(parameters[key])),
  )
  const query = new URLSearchParams(
    presentParameters
      .filter(([key]) => placeOf(key) === 'query')
      .flatMap(([key, value]) => [value].flat().map((one) => [key, String(one)])),
  ).toString()
  const address = `${baseUrl}${path}${query === '' ? '' : `?${query}`}`
  const curl = [
    `curl ${operation.method === 'GET' ? '' : `-X ${operation.method} `}${quote(address)}`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: ${operation.body?.type ?? 'application/json'}'`, `-d ${quote(JSON.stringify(body))}`]),
  ].join(' \\\n  ')
  const required = operation.arguments.filter((argument) => argument.in === 'path').map((argument) => argument.name)
  const cli = [
    `waypost ${wordsOf(name).join(' ')}`,
    ...required.map((key) => quote(String(parameters[key] ?? `<${key}>`))),
    ...presentParameters
      .filter(([key]) => !required.includes(key) && !paging.has(key))
      .flatMap(([key, value]) => [value].flat().map((one) => `${flagOf(key)} ${quote(String(one))}`)),
    ...(body === undefined ? [] : [`--file - <<'END'\n${JSON.stringify(body, null, 2)}\nEND`]),
  ].join(' ')
  const shown = Object.fromEntries([...presentParameters, ...(body === undefined ? [] : [['body', body]])])
  const literal = Object.keys(shown).length === 0 ? '' : JSON.stringify(shown, null, 2).replace(/"(\w+)":/g, '$1:')
  const sdk = operation.paged
    ? `for await (const item of client.${name}(${literal})) console.log(item)`
    : `const { body } = await client.${name}(${literal})`
  return { curl, cli, sdk, scopes: operation.scopes }
}
