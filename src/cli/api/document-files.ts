/** Reads text and YAML documents from files or standard input. Limits protect against hostile documents. */
import { createReadStream, type Stats, statSync } from 'node:fs'
import { boundedBuffer, largerThan } from './bounded-buffer.ts'
import { CommandError, exitCodes } from './errors.ts'

/** Maximum size of a file. Larger files are rejected before they are parsed. */
const bytesMax = 50 * 1024 * 1024
/** Maximum size of YAML, because the YAML parser needs up to 40 times the size of the text in memory. */
const yamlBytesMax = 8 * 1024 * 1024
const aliasesMax = 100

/** Returns the name of a source for messages. `-` is standard input. */
export const sourceName = (file: string) => (file === '-' ? 'standard input' : file)

/** Throws if a file cannot be read. Returns whether it can be read several times, unlike a pipe such as `<(command)`. */
export function requireFile(file: string, exitCode: number = exitCodes.failed): boolean {
  let stats: Stats
  try {
    stats = statSync(file)
  } catch (error) {
    throw unreadable(file, error, exitCode)
  }
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder, not a file`, exitCode)
  return stats.isFile()
}

const unreadable = (file: string, error: unknown, exitCode: number) =>
  new CommandError(`${sourceName(file)} cannot be read (${(error as NodeJS.ErrnoException).code})`, exitCode)

/** Returns the text of a file, or of standard input for `-`. */
export async function readText(file: string, exitCode: number = exitCodes.failed): Promise<string> {
  if (file !== '-') requireFile(file, exitCode)
  const input = file === '-' ? process.stdin : createReadStream(file)
  const tooLarge = () => new CommandError(largerThan(sourceName(file), bytesMax), exitCode)
  const bytes = await boundedBuffer(input, bytesMax, tooLarge).catch((error) => {
    throw error instanceof CommandError ? error : unreadable(file, error, exitCode)
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${sourceName(file)} is not text in UTF-8`, exitCode)
  }
}

/** Parses the YAML documents of a text. Rejects unknown tags, duplicate keys, too many aliases, and values that JSON does not have. */
export async function parseYaml(text: string, name: string, exitCode: number = exitCodes.failed): Promise<unknown[]> {
  const refused = (source: string, problem: string) => new CommandError(`${source}: ${problem}`, exitCode)
  if (Buffer.byteLength(text) > yamlBytesMax) throw new CommandError(largerThan(name, yamlBytesMax), exitCode)
  const { parseAllDocuments } = await import('yaml')
  // With `intAsBigInt`, the parser reads integers as bigint, so that `jsonValue` finds integers that JSON would round.
  const options = { schema: 'core', uniqueKeys: true, stringKeys: true, intAsBigInt: true } as const
  const documents = parseAllDocuments(text, options)
  // The library returns an object instead of an array for a text without documents.
  if (!Array.isArray(documents)) return []
  return documents.map((document, index) => {
    const source = documents.length > 1 ? `${name} (document ${index + 1})` : name
    // The parser reports unknown tags as warnings, not as errors.
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) throw refused(source, sentenceOf(problem))
    try {
      return jsonValue(document.toJS({ maxAliasCount: aliasesMax }))
    } catch (error) {
      throw refused(source, sentenceOf(error as Error))
    }
  })
}

const sentenceOf = ({ message }: Error) =>
  message.includes('call stack') ? 'it is nested too deeply' : message.split('\n')[0]!

/** Converts a value of YAML to a value of JSON. Throws for numbers that JSON would round, and for values such as `!!binary`. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') {
    if (Number.isSafeInteger(Number(value))) return Number(value)
    throw new Error(`${value} is too large for a number; write it in quotes`)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} is not a number that JSON has`)
  // JSON has no negative zero.
  if (value === 0) return 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(jsonValue)
  if (Object.getPrototypeOf(value) !== Object.prototype)
    throw new Error(
      'only texts, numbers, booleans, null, lists and objects are allowed; this tag makes a value of another kind',
    )
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, jsonValue(inner)]))
}
