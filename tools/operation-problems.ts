/**
 * Checks that clients can be generated from the API document: every operation must have a unique name, a summary and examples, and every
 * object in its bodies must be a named schema.
 */
interface Content {
  [type: string]: { schema: { $ref?: string; type?: string; format?: string; examples?: unknown[] }; example?: unknown }
}
interface Described {
  operationId?: string
  summary?: string
  parameters?: { name: string; in: string; required?: boolean; example?: unknown }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}
export interface DescribedApi {
  paths: Record<string, Record<string, unknown>>
  components: { schemas: Record<string, { examples?: unknown[] }> }
}

export function operationProblems({ paths, components }: DescribedApi): string[] {
  const names = new Map<string, string>()
  const problems: string[] = []
  for (const [path, item] of Object.entries(paths))
    for (const [method, value] of Object.entries(item)) {
      const operation = value as Described
      const route = `${method.toUpperCase()} ${path}`
      const { operationId: name } = operation
      if (name === undefined || !/^[a-z]\w*(\.[a-z]\w*)+$/i.test(name))
        problems.push(`${route}: has no name such as endpoints.list`)
      else if (names.has(name)) problems.push(`${route}: has the same name as ${names.get(name)}: ${name}`)
      else names.set(name, route)
      if (!operation.summary?.trim() || operation.summary.includes('\n'))
        problems.push(`${route}: has no summary of one line`)
      problems.push(...exampleProblems(route, operation, components), ...shapeProblems(route, operation))
    }
  return problems
}

const exampleProblems = (
  route: string,
  { parameters = [], requestBody }: Described,
  { schemas }: DescribedApi['components'],
) => [
  ...parameters
    .filter((one) => one.required && one.in === 'path' && one.example === undefined)
    .map((one) => `${route}: ${one.name} has no example`),
  ...Object.values(requestBody?.content ?? {})
    .filter(({ schema, example }) => {
      const declared = schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').pop()!]
      return schema.format !== 'binary' && example === undefined && !declared?.examples?.length
    })
    .map(() => `${route}: the body has no example`),
]

const shapeProblems = (route: string, { requestBody, responses }: Described) =>
  [requestBody, ...Object.values(responses)]
    .flatMap((one) => Object.values(one?.content ?? {}))
    .filter(({ schema }) => schema.type === 'object')
    .map(() => `${route}: an object in its body or answer has no name`)
