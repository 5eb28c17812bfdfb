/** Returns the OpenAPI document with all `$ref` resolved, from which the conformance tests generate requests. */
import { offlineApiDocument } from '../../src/assembly/offline.ts'

type Document = Awaited<ReturnType<typeof offlineApiDocument>>

const prefix = '#/components/schemas/'

function inline(value: unknown, shapes: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(item, shapes))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') {
    const shape = shapes[$ref.slice(prefix.length)]
    if (!$ref.startsWith(prefix) || shape === undefined) throw new Error(`${$ref} cannot be resolved`)
    return inline(shape, shapes)
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inline(inner, shapes)]))
}

export async function inlinedDocument(baseUrl: string): Promise<Pick<Document, 'paths'>> {
  const { paths, components } = await offlineApiDocument(baseUrl)
  return { paths: inline(paths, components.schemas) as Document['paths'] }
}
