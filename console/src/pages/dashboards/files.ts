/** Dashboards as files. An exported file can be imported again, and `waypost apply` can read it too. */
import type { Contents } from './definition.ts'
import { texts } from './texts.ts'

/** Maximum size of a dashboard that the service accepts. */
export const fileBytesMax = 256 * 1024

export function fileOf({ name, description, definition }: Contents): { name: string; text: string } {
  const contents = { kind: 'dashboard', name, ...(description !== '' && { description }), definition }
  const safe = name
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .slice(0, 80)
  return { name: `${safe || 'dashboard'}.json`, text: `${JSON.stringify(contents, null, 2)}\n` }
}

/** Reads the contents of a file. The platform validates the contents; the console checks only the fields that it uses. */
export function contentsOfFile(text: string): { contents: Contents } | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: (error as Error).message }
  }
  const { name, description, definition } = Object(value) as Record<string, unknown>
  const isDefinition = Array.isArray((Object(definition) as { widgets?: unknown }).widgets)
  if (typeof name !== 'string' || !isDefinition) return { problem: texts.importNoObject }
  return {
    contents: {
      name,
      description: typeof description === 'string' ? description : '',
      definition: definition as Contents['definition'],
    },
  }
}
