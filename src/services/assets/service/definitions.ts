/** Checks the schemas of asset types and the definitions of assets, and derives the name and the search text for lists and trees. */
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { schemaProblems, type Violations, validateJson, violationText } from '../../../kernel/json-schema.ts'
import { definitionLengthMax } from '../limits.ts'
import type { Derived } from '../store/assets.ts'

const nameLengthMax = 255
/** Maximum nesting, the same as for request bodies. It is checked after a patch, which can nest values deeper. */
const depthMax = 64

/** A definition as text. */
export interface Definition {
  text: string
  /** Parses the text. Throws a 400 that names the definition. Call it after the permission check, so that a 404 takes precedence. */
  parse(): unknown
}

/** Creates the error for violations. `errors` lists the first violations, `moreErrors` is the number of further violations. */
const violationError = (field: string, problem: string, { violations, more }: Violations) =>
  InvalidRequest(
    { problem: `${field}: ${problem}` },
    { fields: { [field]: [problem] }, details: { errors: violations, ...(more > 0 && { moreErrors: more }) } },
  )

/** Throws a 400 if the schema cannot be used. */
export async function checkSchema(tenantId: string, schema: string) {
  const problems = await schemaProblems(tenantId, schema)
  if (problems) throw violationError('definitionJsonSchema', violationText(problems), problems)
}

/** Throws a 400 if the definition violates the schema of its type, or if checking it takes too long. */
export async function checkDefinition(tenantId: string, schema: string, definition: string) {
  const verdict = await validateJson(tenantId, schema, definition)
  if (verdict === 'valid') return
  if ('unusable' in verdict)
    throw violationError('definition', `cannot be validated: ${violationText(verdict.unusable)}`, verdict.unusable)
  const { violations } = verdict
  throw violationError('definition', `violates the schema of its asset type: ${violationText(violations)}`, violations)
}

/** Returns the definition that results from a patch. `undefined` means that the patch has removed the whole document. */
export function patchedDefinition(value: unknown): Definition {
  if (value === undefined) throw invalidField('definition', 'the patch removes all of it')
  const text = JSON.stringify(value)
  if (text.length > definitionLengthMax)
    throw invalidField('definition', `expected at most ${definitionLengthMax} characters after the patch`)
  if (isDeeper(value, depthMax)) throw invalidField('definition', `nested deeper than ${depthMax} levels by the patch`)
  return { text, parse: () => value }
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

export function derivedOf(value: unknown): Derived {
  const texts: string[] = []
  collectTexts(value, texts)
  return { name: nameOf(value), searchText: searchable(texts.join(separator)) }
}

function collectTexts(value: unknown, texts: string[]) {
  if (typeof value === 'string') texts.push(value.replaceAll(separator, replacement))
  else if (typeof value === 'number') texts.push(String(value))
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) collectTexts(inner, texts)
}

/**
 * Separates the values in `search_text`. The text that a caller searches for never contains this character, so a match cannot extend over
 * two values.
 */
const separator = '\u0001'
const replacement = '\ufffd'

const searchable = (text: string) => text.toLowerCase()

/** Returns the text to search for in `search_text`. */
export const searchOf = (text: string) => searchable(text.replaceAll(separator, replacement))

function nameOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'name')) return null
  const { name } = value as { name: unknown }
  return typeof name === 'string' && name.length <= nameLengthMax ? name : null
}
