/** Reads the YAML documents of `plan` and `apply`: files, folders, or standard input. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { CommandError } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import { type Fields, type Kind, stepKey } from './kind.ts'
import { findKind, kinds } from './kinds.ts'

export interface Document {
  kind: Kind
  key: string
  fields: Fields
  /** File and number of the document, for messages. */
  place: string
}

const bytesMax = 50 * 1024 * 1024

export async function readDocuments(paths: string[]): Promise<Document[]> {
  const documents: Document[] = []
  const places = new Map<string, string>()
  for (const file of paths.flatMap(filesOf)) {
    const text = file === '-' ? decoded(await buffer(process.stdin), 'standard input') : decoded(readBytes(file), file)
    for (const document of await parse(text, file === '-' ? 'standard input' : file)) {
      const name = stepKey(document.kind.name, document.key)
      const other = places.get(name)
      if (other !== undefined) throw new CommandError(`${visible(name)} is in ${other} and in ${document.place}`, 2)
      places.set(name, document.place)
      documents.push(document)
    }
  }
  if (documents.length === 0) throw new CommandError('there are no documents', 2)
  return documents
}

/** Returns the YAML and JSON files of a folder, also in folders below it, in the order of their names. */
function filesOf(path: string): string[] {
  if (path === '-') return [path]
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) throw new CommandError(`${path} does not exist`, 2)
  if (!stats.isDirectory()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
    .map((name) => join(path, name))
}

function readBytes(file: string): Buffer {
  if (statSync(file).size > bytesMax) throw new CommandError(`${file} is larger than ${bytesMax} bytes`)
  return readFileSync(file)
}

function decoded(bytes: Buffer, name: string): string {
  if (bytes.length > bytesMax) throw new CommandError(`${name} is larger than ${bytesMax} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${name} is not text in UTF-8`)
  }
}

async function parse(text: string, file: string): Promise<Document[]> {
  const { parseAllDocuments } = await import('yaml')
  const parsed = parseAllDocuments(text, { schema: 'core', uniqueKeys: true })
  if (!Array.isArray(parsed)) return []
  return parsed.flatMap((document, index) => {
    const place = parsed.length > 1 ? `${file} (document ${index + 1})` : file
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) throw new CommandError(`${place}: ${problem.message.split('\n')[0]}`, 2)
    const value = toValue(document, place)
    return value === null ? [] : [documentOf(value, place)]
  })
}

function toValue(document: { toJS(options: { maxAliasCount: number }): unknown }, place: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new CommandError(`${place}: ${(error as Error).message}`, 2)
  }
}

function documentOf(value: unknown, place: string): Document {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError(`${place}: expected an object with the field kind`, 2)
  const { kind: name, ...fields } = value as Fields
  const kind = findKind(name)
  if (!kind) {
    const known = kinds.map((one) => one.name).join(', ')
    throw new CommandError(`${place}: kind: expected one of ${known}, not ${visible(String(name))}`, 2)
  }
  try {
    return { kind, key: kind.keyOf(fields), fields, place }
  } catch (error) {
    if (error instanceof CommandError) throw new CommandError(`${place}: ${error.message}`, 2)
    throw error
  }
}
