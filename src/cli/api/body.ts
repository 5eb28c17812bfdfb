/** Reads the body of a request from flags, from a file of JSON or YAML, or from standard input. */
import { createReadStream } from 'node:fs'
import type { Description } from '../../../sdk/src/descriptions.ts'
import { parseYaml, readText, requireFile, sourceName } from './document-files.ts'
import { CommandError, usageError } from './errors.ts'
import { parseExactJson } from './exact-json.ts'
import type { ParsedCommand } from './flags.ts'

export async function readBody({ body, name }: Description, { fields, flags }: ParsedCommand): Promise<unknown> {
  const commandText = name.replaceAll('.', ' ')
  const hasFields = Object.keys(fields).length > 0
  if (!body) {
    if (flags.file !== undefined) throw usageError(`${commandText} takes no body, so it takes no --file`)
    return undefined
  }
  if (body.type === 'application/octet-stream') return await uploadOf(flags.file, commandText)
  const document = flags.file === undefined ? undefined : await readDocument(flags.file)
  if (!hasFields) {
    if (document === undefined && body.required) throw usageError(missingBody(commandText, body.fields))
    return document
  }
  if (document === undefined) return fields
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw usageError(`${flags.file}: expected an object, because flags add fields to it`)
  return { ...document, ...fields }
}

function missingBody(commandText: string, fields: { name: string; required: boolean }[] | undefined): string {
  const required = fields?.filter((field) => field.required).map(({ name }) => name) ?? []
  const needs = required.length > 0 ? ` with ${required.join(', ')}` : ''
  return `${commandText} needs a body${needs}: give its fields as flags, or --file <file> with JSON or YAML (- is standard input)`
}

/** Returns the content to upload: for a file a function that opens it for each attempt, for a pipe a stream that can be read only once. */
async function uploadOf(file: string | undefined, commandText: string): Promise<unknown> {
  if (file === undefined) throw usageError(`${commandText} needs --file <file> (- is standard input)`)
  const { Readable } = await import('node:stream')
  if (file === '-') return Readable.toWeb(process.stdin)
  const open = () => Readable.toWeb(createReadStream(file))
  return requireFile(file) ? open : open()
}

/** Reads JSON or YAML from a file, or from standard input for `-`. */
export async function readDocument(file: string): Promise<unknown> {
  return await parseDocument(await readText(file), sourceName(file))
}

/** Parses JSON, or one YAML document. */
export async function parseDocument(text: string, name: string): Promise<unknown> {
  const trimmed = text.trimStart()
  if (trimmed === '') throw new CommandError(`${name} is empty`)
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    const value = jsonOf(text, name)
    if (value !== undefined) return value
  }
  const documents = await parseYaml(text, name)
  if (documents.length === 0) throw new CommandError(`${name} is empty`)
  if (documents.length > 1) throw new CommandError(`${name} has several documents; expected one`)
  return documents[0]
}

/** Parses JSON. Returns undefined for a text that is not JSON, which may still be YAML. */
function jsonOf(text: string, name: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw new CommandError(`${name}: ${(error as Error).message}`)
  }
}
