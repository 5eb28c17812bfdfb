/** Names of operations: `noun.verb`, such as `endpoints.list` or `endpoints.metadata.patch`. Clients are generated from them. */

/** Every verb with the methods that it may stand for. A new verb is a decision: prefer one that is here. */
const methodsOf: Record<string, readonly string[]> = {
  list: ['GET'],
  get: ['GET'],
  create: ['POST'],
  update: ['PUT'],
  patch: ['PATCH'],
  delete: ['DELETE'],
  /** A list whose question needs a body. */
  search: ['POST'],
  deleteMany: ['POST'],
  /** Bytes instead of JSON. */
  download: ['GET'],
  upload: ['POST', 'PUT'],
  /** Everything at once, for another installation. */
  export: ['GET'],
  import: ['POST'],
  /** Answers that go on. */
  watch: ['GET'],
  preview: ['GET', 'POST'],
  link: ['PUT'],
  unlink: ['PUT'],
  rotate: ['POST'],
  send: ['POST'],
  // OpenID Connect
  authorize: ['GET'],
  logout: ['GET'],
  revoke: ['POST'],
  introspect: ['POST'],
}

const form = /^[a-z][a-zA-Z0-9]*(\.[a-z][a-zA-Z0-9]*)+$/

/** The problem with an operation's name, if there is any. */
export function nameProblem(name: unknown, method: string): string | undefined {
  if (typeof name !== 'string' || !form.test(name)) return 'expected a name such as endpoints.list'
  const verb = name.slice(name.lastIndexOf('.') + 1)
  const methods = Object.hasOwn(methodsOf, verb) ? methodsOf[verb]! : undefined
  if (!methods) return `${verb} is none of the verbs ${Object.keys(methodsOf).join(', ')}`
  if (!methods.includes(method)) return `${verb} is for ${methods.join(' and ')}`
  return undefined
}

/** Refuses an operation without a proper name or summary, and a name that another operation has. */
export function createNameBook() {
  const taken = new Map<string, string>()
  return (operation: { method: string; path: string; root: string; schema: { name: string; summary: string } }) => {
    const { method, path, root, schema } = operation
    const place = `${method} ${root}${path}`
    const problem = nameProblem(schema.name, method)
    if (problem) throw new Error(`${place} has the name ${JSON.stringify(schema.name)}: ${problem}`)
    if (!schema.summary?.trim() || schema.summary.includes('\n'))
      throw new Error(`${place} needs a summary of one line`)
    const other = taken.get(schema.name)
    if (other !== undefined) throw new Error(`${place} and ${other} have the same name ${schema.name}`)
    taken.set(schema.name, place)
  }
}
