/** Checks names of operations: `noun.verb`, such as `endpoints.list` or `endpoints.metadata.patch`. Clients are generated from them. */

/** The allowed verbs with their methods. Use an existing verb if one fits. */
const methodsOf: Record<string, readonly string[]> = {
  list: ['GET'],
  get: ['GET'],
  create: ['POST'],
  update: ['PUT'],
  patch: ['PATCH'],
  delete: ['DELETE'],
  /** Returns a list. The filter is so large that it needs a body. */
  search: ['POST'],
  deleteMany: ['POST'],
  /** Transfers bytes instead of JSON. */
  download: ['GET'],
  upload: ['POST', 'PUT'],
  /** Transfers all data in one request, to or from another installation. */
  export: ['GET'],
  import: ['POST'],
  /** Sends events until the client disconnects. */
  watch: ['GET', 'POST'],
  preview: ['GET', 'POST'],
  link: ['PUT', 'POST'],
  unlink: ['PUT', 'POST'],
  rotate: ['POST'],
  /** Makes an old version the current version. */
  restore: ['POST'],
  /** Checks a candidate and stores nothing. */
  validate: ['PUT'],
  send: ['POST'],
  pause: ['POST'],
  resume: ['POST'],
  /** Runs a stored object, or a candidate that is not stored. */
  execute: ['POST'],
  /** Stops something that runs. */
  cancel: ['POST'],
  evaluate: ['POST'],
  /** Runs something without storing or sending anything. */
  try: ['POST'],
  retry: ['POST'],
  // OpenID Connect
  authorize: ['GET'],
  logout: ['GET'],
  revoke: ['POST'],
  introspect: ['POST'],
}

/** Verbs of operations that store nothing, although their method is not GET. */
const readingVerbs = new Set(['search', 'watch', 'preview', 'validate', 'evaluate', 'try', 'introspect'])
/** Verbs of operations that delete data, although their method is not DELETE. */
const deletingVerbs = new Set(['deleteMany', 'unlink', 'revoke'])

/** Returns what an operation does to stored data. */
export function effectOf({ method, schema }: { method: string; schema: { name: string } }) {
  const verb = schema.name.slice(schema.name.lastIndexOf('.') + 1)
  if (method === 'GET' || readingVerbs.has(verb)) return 'read'
  return method === 'DELETE' || deletingVerbs.has(verb) ? 'delete' : 'change'
}

const namePattern = /^[a-z][a-zA-Z0-9]*(\.[a-z][a-zA-Z0-9]*)+$/

/** Returns the problem with an operation's name, if any. */
export function nameProblem(name: unknown, method: string): string | undefined {
  if (typeof name !== 'string' || !namePattern.test(name)) return 'expected a name such as endpoints.list'
  const verb = name.slice(name.lastIndexOf('.') + 1)
  const methods = Object.hasOwn(methodsOf, verb) ? methodsOf[verb]! : undefined
  if (!methods) return `${verb} is not one of the verbs ${Object.keys(methodsOf).join(', ')}`
  if (!methods.includes(method)) return `${verb} is for ${methods.join(' and ')}`
  return undefined
}

/** Returns a check that rejects an operation with an invalid name or summary, or with the name of another operation. */
export function createNameCheck() {
  const routesByName = new Map<string, string>()
  return (operation: { method: string; path: string; root: string; schema: { name: string; summary: string } }) => {
    const { method, path, root, schema } = operation
    const route = `${method} ${root}${path}`
    const problem = nameProblem(schema.name, method)
    if (problem) throw new Error(`${route} has the name ${JSON.stringify(schema.name)}: ${problem}`)
    if (!schema.summary?.trim() || schema.summary.includes('\n'))
      throw new Error(`${route} needs a summary of one line`)
    const other = routesByName.get(schema.name)
    if (other !== undefined) throw new Error(`${route} and ${other} have the same name ${schema.name}`)
    routesByName.set(schema.name, route)
  }
}
