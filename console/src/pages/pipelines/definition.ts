/** Reads pipelines as the API returns them. */

export interface Definition {
  processors: Processor[]
  description?: string
  on_failure?: Processor[]
  [field: string]: unknown
}

/** One processor: `{set: {field, value}}`. */
export type Processor = Record<string, Record<string, unknown> | undefined>

export interface Pipeline {
  id: string
  definition: Definition
}

/** Returns the pipelines in a response, where their keys are `{tenantID}-{pipelineID}`. */
export const pipelinesOf = (body: Record<string, unknown> | undefined, tenantId: string): Pipeline[] =>
  Object.entries(body ?? {}).map(([key, definition]) => ({
    id: key.startsWith(`${tenantId}-`) ? key.slice(tenantId.length + 1) : key,
    definition: definition as Definition,
  }))

/** Returns the only pipeline in a response. */
export const definitionOf = (body: Record<string, unknown> | undefined): Definition | undefined =>
  Object.values(body ?? {})[0] as Definition | undefined

export const typeOf = (processor: Processor) => Object.keys(processor)[0] ?? ''

export const pretty = (value: unknown) => JSON.stringify(value, null, 2)

/**
 * Returns whether a value contains a number that the browser may have rounded. The platform keeps integers of 64 bits, JavaScript only 53
 * bits.
 */
export function isRounded(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(isRounded)
}
