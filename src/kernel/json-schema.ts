/**
 * JSON schemas that users define (document 5, 1.8), of draft-07 (also if `$schema` is absent), 2019-09 or 2020-12. A schema is unusable if
 * it has remote references or patterns that cannot run in linear time. Schemas run in threads with a time limit (json-schema/threads.ts).
 */
import type { Violations } from './json-schema/compile.ts'
import { createSchemaQueue, type SchemaQueue } from './json-schema/queue.ts'
import type { SchemaAnswer, SchemaRequest } from './json-schema/threads.ts'

export type { Violation, Violations } from './json-schema/compile.ts'

/** Maximum number of characters of a schema that a user can store. */
export const schemaLengthMax = 64 * 1024

export type Verdict = 'valid' | { violations: Violations } | { unusable: Violations }

// The queue is created with the first schema of the process. All services share it.
let queue: SchemaQueue | undefined

function run(tenantId: string, request: SchemaRequest): Promise<SchemaAnswer> {
  queue ??= createSchemaQueue()
  return queue.run(tenantId, request)
}

/** Returns the reasons why a schema cannot be used; undefined if it can be used. Throws 429 if too many requests of the tenant wait. */
export async function schemaProblems(tenantId: string, schema: string): Promise<Violations | undefined> {
  const answer = await run(tenantId, { schema })
  return 'unusable' in answer ? answer.unusable : undefined
}

/** Validates JSON text. Throws 429 if too many requests of the tenant wait. */
export async function validateJson(tenantId: string, schema: string, data: string): Promise<Verdict> {
  const answer = await run(tenantId, { schema, data })
  if ('unusable' in answer) return { unusable: answer.unusable }
  return answer.violations.length === 0 ? 'valid' : { violations: answer }
}

/** Returns the first violation as one line, for an error message. */
export function violationText({ violations, more }: Violations): string {
  const [first] = violations
  const others = violations.length - 1 + more
  const text = first ? `${first.path === '' ? '' : `${first.path}: `}${first.message}` : ''
  return others > 0 ? `${text} (and ${others} more)` : text
}
