/** Reads the YAML documents of `plan` and `apply` from files, folders or standard input. */
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { closest } from 'fastest-levenshtein'
import { parseYaml, readText, sourceName } from '../api/document-files.ts'
import { CommandError, exitCodes } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import { type Fields, type Kind, stepKey } from './kind.ts'
import { findKind, kinds } from './kinds.ts'

export interface Document {
  kind: Kind
  key: string
  fields: Fields
  /** File and number of the document, for messages. */
  source: string
}

export async function readDocuments(paths: string[]): Promise<Document[]> {
  const documents: Document[] = []
  const sources = new Map<string, string>()
  for (const file of paths.flatMap(filesOf)) {
    const values = await parseYaml(await readText(file, exitCodes.usage), sourceName(file), exitCodes.usage)
    for (const [index, value] of values.entries()) {
      // Empty documents are skipped, such as the document after a final `---`.
      if (value === null) continue
      const source = values.length > 1 ? `${sourceName(file)} (document ${index + 1})` : sourceName(file)
      const document = documentOf(value, source)
      const name = stepKey(document.kind.name, document.key)
      const other = sources.get(name)
      if (other !== undefined) throw new CommandError(`${visible(name)} is in ${other} and in ${document.source}`, 2)
      sources.set(name, document.source)
      documents.push(document)
    }
  }
  if (documents.length === 0) throw new CommandError('there are no documents', 2)
  return documents
}

/** Returns the YAML and JSON files of a folder and its subfolders, ordered by name. */
function filesOf(path: string): string[] {
  if (path === '-') return [path]
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) throw new CommandError(`${path} does not exist`, 2)
  if (!stats.isDirectory()) return [path]
  return filesBelow(path, new Set())
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
}

/** Returns the files of a folder. If symbolic links lead to the same folder several times, the folder is read once. */
function filesBelow(folder: string, read: Set<string>): string[] {
  const real = realpathSync(folder)
  if (read.has(real)) return []
  read.add(real)
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    return isFolder ? filesBelow(path, read) : [path]
  })
}

function documentOf(value: unknown, source: string): Document {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError(`${source}: expected an object with the field kind`, 2)
  const { kind: name, ...fields } = value as Fields
  const kind = findKind(name)
  if (!kind) {
    const names = kinds.map((one) => one.name)
    const problem =
      name === undefined
        ? 'the field kind is missing, such as kind: application'
        : `kind: there is no kind ${visible(String(name))}; the nearest is ${closest(String(name), names)}`
    throw new CommandError(`${source}: ${problem}. The kinds are ${names.join(', ')}`, 2)
  }
  try {
    const key = kind.keyOf(fields)
    requireKnownFields(kind, fields)
    return { kind, key, fields: kind.normalize?.(fields) ?? fields, source }
  } catch (error) {
    if (error instanceof CommandError) throw new CommandError(`${source}: ${error.message}`, 2)
    throw error
  }
}

/** Throws for a field that the kind does not have. The platform would ignore such a field, and each apply would plan the same change. */
function requireKnownFields(kind: Kind, fields: Fields) {
  const known = kind.fields().map(({ name }) => name)
  const unknown = Object.keys(fields).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new CommandError(`${kind.name} has no field ${visible(unknown)}; the nearest is ${closest(unknown, known)}`, 2)
}
