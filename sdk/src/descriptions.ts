/** Descriptions of operations, for command lines, forms, and pages that show how to call an operation. */
import { described } from './described.ts'

export interface DescribedArgument {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  /** `list`: a text that can be given several times; `json`: any JSON value. */
  kind: 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'json'
  choices?: unknown[]
  default?: unknown
  description: string
  example?: unknown
}

export type DescribedField = Omit<DescribedArgument, 'in' | 'example'>

export interface Description {
  /** Name of the operation, such as `endpoints.list`. */
  name: string
  method: string
  /** Path with parameters in braces; `{+name}` can have several segments. */
  path: string
  /** The API that the operation belongs to. */
  tag: string
  /** Summary in one line. */
  summary: string
  description?: string
  /** The operation that new programs should use instead. */
  aliasOf?: string
  arguments: DescribedArgument[]
  /** `fields` are absent if the body is not an object of known fields. */
  body?: { type: string; required: boolean; example?: unknown; fields?: DescribedField[] }
  /** `type`: media type of the response; absent if it has no body. `columns`: fields of an item of a list, or else of the response. */
  answer: { type?: string; columns?: string[] }
  statuses: number[]
  /** Whether the operation returns a list that `client.list` can read page by page. */
  paged?: boolean
  /** True if the operation only reads. */
  reads: boolean
  /** Scopes that permit the operation; a caller needs one of these scopes. */
  scopes: string[]
  /** True if the operation is called without credentials. */
  open: boolean
  /** The conditional headers that the operation accepts. */
  conditions: ('ifMatch' | 'ifNoneMatch')[]
}

/** Names of all operations. */
export const operationNames = (): string[] => Object.keys(described)

/** Returns the description of an operation, or undefined if no operation has this name. */
export function describe(name: string): Description | undefined {
  const text = Object.hasOwn(described, name) ? described[name] : undefined
  return text === undefined ? undefined : (JSON.parse(text) as Description)
}
