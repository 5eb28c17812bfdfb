/** A JSON schema for the body of an operation, for forms. It is made from the descriptions of the SDK, which are loaded on demand. */
import { useQuery } from '@tanstack/react-query'

export interface BodySchema {
  type: 'object'
  required: string[]
  properties: Record<string, Record<string, unknown>>
}

const typeOf: Record<string, Record<string, unknown>> = {
  list: { type: 'array', items: { type: 'string' } },
  // Values of any kind are edited as text.
  json: {},
}

async function read(operation: string): Promise<BodySchema> {
  const { describe } = await import('../../../sdk/src/descriptions.ts')
  const fields = describe(operation)?.body?.fields ?? []
  return {
    type: 'object',
    required: fields.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      fields.map(({ name, kind, choices, description }) => [
        name,
        { ...(typeOf[kind] ?? { type: kind }), ...(choices && { enum: choices }), description },
      ]),
    ),
  }
}

/** Returns the schema of the body, or undefined until the description is loaded. */
export function useBodySchema(operation: string): BodySchema | undefined {
  return useQuery({
    queryKey: ['body-schema', operation],
    queryFn: () => read(operation),
    staleTime: Number.POSITIVE_INFINITY,
  }).data
}
