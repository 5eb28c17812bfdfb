/** Reads text and YAML documents from files or standard input, with limits that hostile ones cannot pass. */
import { createReadStream, statSync } from 'node:fs'
import { boundedBuffer, largerThan } from './bounded-buffer.ts'
import { CommandError, exitCodes } from './errors.ts'

/** Maximum size of a file; larger ones are refused before they are parsed. */
const bytesMax = 50 * 1024 * 1024
/** Maximum size of YAML, whose parser takes up to 40 times its size in memory. */
const yamlBytesMax = 8 * 1024 * 1024
const aliasesMax = 100

/** Names a source in messages; `-` is standard input. */
export const sourceName = (file: string) => (file === '-' ? 'standard input' : file)

export function requireFile(file: string) {
  try {
    if (statSync(file).isFile()) return
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  throw new CommandError(`${file} is not a file`)
}

/** Returns the text of a file, or of standard input for `-`. */
export async function readText(file: string): Promise<string> {
  if (file !== '-') requireFile(file)
  const input = file === '-' ? process.stdin : createReadStream(file)
  const bytes = await boundedBuffer(input, bytesMax, () => new CommandError(largerThan(sourceName(file), bytesMax)))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${sourceName(file)} is not text in UTF-8`)
  }
}

/** Parses the YAML documents of a text. Unknown tags, duplicate keys and too many aliases are refused. */
export async function parseYaml(text: string, name: string, exitCode: number = exitCodes.failed): Promise<unknown[]> {
  const refused = (source: string, problem: string) => new CommandError(`${source}: ${problem}`, exitCode)
  if (Buffer.byteLength(text) > yamlBytesMax) throw new CommandError(largerThan(name, yamlBytesMax), exitCode)
  const { parseAllDocuments } = await import('yaml')
  // The core schema has no tags that create other objects; unknown tags are warnings.
  const documents = parseAllDocuments(text, { schema: 'core', uniqueKeys: true })
  // The library returns an object instead of an array for a text without documents.
  if (!Array.isArray(documents)) return []
  return documents.map((document, index) => {
    const source = documents.length > 1 ? `${name} (document ${index + 1})` : name
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) throw refused(source, problem.message.split('\n')[0]!)
    try {
      return document.toJS({ maxAliasCount: aliasesMax })
    } catch (error) {
      throw refused(source, (error as Error).message)
    }
  })
}
