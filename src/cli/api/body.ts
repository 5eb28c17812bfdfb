/** Reads the body of a request: flags, a file of JSON or YAML, or standard input. */
import { createReadStream, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Description } from '../../../sdk/src/descriptions.ts'
import { CommandError, usageError } from './errors.ts'
import type { ParsedCommand } from './flags.ts'

/** Larger bodies are refused before they are parsed; uploads have no limit. */
const fileBytesMax = 50 * 1024 * 1024

export async function readBody({ body, name }: Description, { fields, flags }: ParsedCommand): Promise<unknown> {
  const words = name.replaceAll('.', ' ')
  const hasFields = Object.keys(fields).length > 0
  if (!body) {
    if (flags.file !== undefined) throw usageError(`${words} takes no body, so it takes no --file`)
    return undefined
  }
  if (body.type === 'application/octet-stream') return uploadOf(flags.file, words)
  const given = flags.file === undefined ? undefined : await readDocument(flags.file)
  if (!hasFields) {
    if (given === undefined && body.required) throw usageError(missingBody(words, body.fields))
    return given
  }
  if (given === undefined) return fields
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw usageError(`${flags.file}: expected an object, because flags add fields to it`)
  return { ...given, ...fields }
}

function missingBody(words: string, fields: { name: string; required: boolean }[] | undefined): string {
  const required = fields?.filter((field) => field.required).map(({ name }) => name) ?? []
  const needs = required.length > 0 ? ` with ${required.join(', ')}` : ''
  return `${words} needs a body${needs}: give its fields as flags, or --file <file> with JSON or YAML (- is standard input)`
}

/** Opens an upload; a file can be read again if the request is repeated. */
function uploadOf(file: string | undefined, words: string): unknown {
  if (file === undefined) throw usageError(`${words} needs --file <file> (- is standard input)`)
  if (file === '-') return Readable.toWeb(process.stdin)
  requireFile(file)
  return () => Readable.toWeb(createReadStream(file))
}

function requireFile(file: string) {
  try {
    if (statSync(file).isFile()) return
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  throw new CommandError(`${file} is not a file`)
}

/** Reads JSON or YAML from a file, or from standard input for `-`. */
export async function readDocument(file: string): Promise<unknown> {
  const bytes = file === '-' ? await buffer(process.stdin) : await readBytes(file)
  if (bytes.length > fileBytesMax) throw new CommandError(`${nameOf(file)} is larger than ${fileBytesMax} bytes`)
  return parseDocument(textOf(bytes, file), nameOf(file))
}

async function readBytes(file: string): Promise<Buffer> {
  requireFile(file)
  if (statSync(file).size > fileBytesMax) throw new CommandError(`${file} is larger than ${fileBytesMax} bytes`)
  return await readFile(file)
}

const nameOf = (file: string) => (file === '-' ? 'standard input' : file)

function textOf(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${nameOf(file)} is not text in UTF-8`)
  }
}

/** Parses JSON, or YAML of one document without tags and with few aliases. */
export async function parseDocument(text: string, name: string): Promise<unknown> {
  const trimmed = text.trimStart()
  if (trimmed === '') throw new CommandError(`${name} is empty`)
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    const value = jsonOf(text)
    if (value !== undefined) return value
  }
  const { parseAllDocuments } = await import('yaml')
  // The core schema has no tags that create other objects; unknown tags are warnings.
  const documents = parseAllDocuments(text, { schema: 'core', uniqueKeys: true })
  const [document] = documents
  if (!Array.isArray(documents) || !document) throw new CommandError(`${name} is empty`)
  if (documents.length > 1) throw new CommandError(`${name} has several documents; expected one`)
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw new CommandError(`${name}: ${problem.message.split('\n')[0]}`)
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new CommandError(`${name}: ${(error as Error).message}`)
  }
}

/** Returns undefined for text that is not JSON, which may still be YAML. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
