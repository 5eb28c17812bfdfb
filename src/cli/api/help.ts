/** Writes help texts of nouns and operations. They are derived from the API reference. */
import type { Description } from '../../../sdk/src/descriptions.ts'
import { dashed } from './dashed.ts'
import { flagsOf } from './flags.ts'
import { operationsBelow } from './names.ts'

export function helpOfOperation(description: Description): string {
  const { name, summary, description: text, arguments: described, body, scopes, method, path } = description
  const positionals = described.filter((item) => item.in === 'path')
  const flags = flagsOf(description)
  const commandText = name.split('.').map(dashed).join(' ')
  const rows = [
    ...positionals.map((item) => [`<${dashed(item.name)}>`, item.description]),
    ...flags.map(({ flag, described: item }) => [
      `--${flag}${item.kind === 'boolean' ? '' : ` <${item.kind}>`}`,
      `${item.description}${item.required ? ' Required.' : ''}${item.choices ? ` One of: ${item.choices.join(', ')}.` : ''}`,
    ]),
    ...(body ? [['--file, -f <file>', 'the body as JSON or YAML, or the file to upload; - is standard input']] : []),
    ...(description.paged
      ? [
          ['--limit <n>', 'at most this many items; default: all'],
          ['--page-size <n>', 'items in one request'],
        ]
      : []),
    ...(description.conditions.includes('ifMatch')
      ? [['--if-match <etag>', 'change the object only if this is its current version']]
      : []),
    ...(isFile(description)
      ? [
          ['--save <file>', 'write the content to this file; default: standard output'],
          ['--force', 'replace the file if it exists'],
        ]
      : []),
  ]
  const lines = [
    `usage: waypost ${[commandText, ...positionals.map((item) => `<${dashed(item.name)}>`)].join(' ')}${flags.length > 0 ? ' [options]' : ''}`,
    '',
    `${summary}.${text === undefined ? '' : ` ${text}`}`,
    ...(rows.length > 0 ? ['', ...tableOf(rows)] : []),
    // If the fields of the body are flags, no example of the body is needed.
    ...(body && !body.fields && body.example !== undefined ? ['', `A body: ${JSON.stringify(body.example)}`] : []),
    '',
    ...tableOf([
      ['-o <format>', 'table, wide, json, yaml, csv or id; default: table'],
      ['--columns <a,b>', 'columns to print; metadata.city is a field inside a field'],
      ['--dry-run', 'print the request as curl, and send nothing'],
      ['--context <name>', 'use another login'],
      ['--url <address>', 'address of the platform, with WAYPOST_API_KEY'],
    ]),
    '',
    `API: ${method} ${path}${scopes.length > 0 ? `, scope ${scopes.join(' or ')}` : ''}. SDK: client.${name}()`,
  ]
  return `${lines.join('\n')}\n`
}

/** Returns whether the answer of an operation is a file. */
export const isFile = ({ answer }: Description) => answer.type === 'application/octet-stream'

export async function helpOfNoun(words: string[]): Promise<string> {
  const rows = (await operationsBelow(words)).map(({ words: text, summary }) => [`waypost ${text}`, summary])
  return `${[...tableOf(rows), '', `--help after a command shows its arguments.`].join('\n')}\n`
}

function tableOf(rows: string[][]): string[] {
  const width = Math.min(48, Math.max(...rows.map(([left]) => left!.length)))
  return rows.map(([left, right]) => `  ${left!.padEnd(width)}  ${right}`)
}
