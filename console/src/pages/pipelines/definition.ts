/** Reads pipelines as the API returns them. */

export interface Definition {
  processors: Processor[]
  description?: string
  on_failure?: Processor[]
  [field: string]: unknown
}

/** `{set: {field, value}}` */
export type Processor = Record<string, Record<string, unknown> | undefined>

export interface Pipeline {
  id: string
  definition: Definition
}

/** The API returns pipelines under `{tenantID}-{pipelineID}`. */
export const pipelinesOf = (body: Record<string, unknown> | undefined, tenantId: string): Pipeline[] =>
  Object.entries(body ?? {}).map(([key, definition]) => ({
    id: key.startsWith(`${tenantId}-`) ? key.slice(tenantId.length + 1) : key,
    definition: definition as Definition,
  }))

/** The only pipeline of an answer. */
export const definitionOf = (body: Record<string, unknown> | undefined): Definition | undefined =>
  Object.values(body ?? {})[0] as Definition | undefined

export const typeOf = (processor: Processor) => Object.keys(processor)[0] ?? ''

export const pretty = (value: unknown) => JSON.stringify(value, null, 2)

/** Whether a number was rounded when the browser read it: the platform keeps 64 bits, the browser 53. */
export function isRounded(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(isRounded)
}
