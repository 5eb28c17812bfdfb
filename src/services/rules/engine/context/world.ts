/** Builds `ctx` inside the sandbox. The text of `buildContext` is compiled there, so it can use nothing from outside. */

export interface EndpointInput {
  endpointId: string
  appName?: string | undefined
  appVersionName?: string | undefined
  /** Metadata that was given instead of being read: evaluations. */
  metadata?: unknown
}

/** The JSON that a context is built from. */
export interface ContextInput {
  tenantId: string
  endpoint?: EndpointInput | undefined
  trigger?: Record<string, unknown> | undefined
  data: unknown
  /** Members of the body of an execution on demand, or of an evaluation. */
  members?: Record<string, unknown> | undefined
  body?: unknown
}

type Call = (name: string, ...args: unknown[]) => unknown

function buildContext(input: ContextInput, call: Call): Record<string, unknown> {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

  const read = (what: string, endpointId: string, ...args: unknown[]) => call('read', what, endpointId, ...args)
  const timeOf = (value: unknown) => (value instanceof Date ? value.getTime() : value)

  const endpointOf = ({ metadata, ...ref }: EndpointInput): Record<string, unknown> => {
    const { endpointId } = ref
    let known = metadata
    const methods = {
      getMetadata(key?: string) {
        if (known === undefined) known = read('metadata', endpointId)
        return key === undefined ? known : (known as Record<string, unknown>)[key]
      },
      getTimeSeries(name: string) {
        return {
          last(count?: number) {
            const points = read('last', endpointId, name, count ?? 1) as unknown[]
            return count === undefined ? (points[0] ?? null) : points
          },
          range: (from: unknown, to: unknown) => read('range', endpointId, name, timeOf(from), timeOf(to)),
        }
      },
      getChildren: () => (read('children', endpointId) as EndpointInput[]).map(endpointOf),
      getParents: () => (read('parents', endpointId) as EndpointInput[]).map(endpointOf),
      getConfiguration: (name?: string) => read('configuration', endpointId, name),
      getFilters: () => read('filters', endpointId),
    }
    const endpoint = { ...ref }
    // Not enumerable, so that the JSON of an endpoint has its names only.
    for (const [name, value] of Object.entries(methods)) Object.defineProperty(endpoint, name, { value })
    return endpoint
  }

  const request = (method: string) => (url: unknown, options?: unknown) => call('http', method, url, options ?? {})
  const bytesOf = (text: string) => {
    const escaped = encodeURIComponent(text)
    const bytes: number[] = []
    for (let index = 0; index < escaped.length; index++)
      if (escaped[index] === '%') {
        bytes.push(Number.parseInt(escaped.slice(index + 1, index + 3), 16))
        index += 2
      } else bytes.push(escaped.charCodeAt(index))
    return bytes
  }
  const encode = (value: unknown) => {
    const bytes = bytesOf(String(value))
    const parts: string[] = []
    for (let index = 0; index < bytes.length; index += 3) {
      const group = (bytes[index]! << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0)
      const letters = [18, 12, 6, 0].map((shift) => alphabet[(group >> shift) & 63]).join('')
      const left = bytes.length - index
      parts.push(left >= 3 ? letters : left === 2 ? `${letters.slice(0, 3)}=` : `${letters.slice(0, 2)}==`)
    }
    return parts.join('')
  }
  const decode = (value: unknown) => {
    const letters = String(value).replace(/[\s=]/g, '').replace(/-/g, '+').replace(/_/g, '/')
    let escaped = ''
    let group = 0
    let bits = 0
    for (const letter of letters) {
      const code = alphabet.indexOf(letter)
      if (code < 0) throw new Error(`${letter} is not a letter of base64`)
      group = (group << 6) | code
      bits += 6
      if (bits < 8) continue
      bits -= 8
      escaped += `%${((group >> bits) & 255).toString(16).padStart(2, '0')}`
      group &= (1 << bits) - 1
    }
    try {
      return decodeURIComponent(escaped)
    } catch {
      throw new Error('the decoded bytes are not UTF-8')
    }
  }

  const ctx: Record<string, unknown> = { ...input.members }
  ctx.tenantId = input.tenantId
  ctx.data = input.data
  if (input.body !== undefined) ctx.body = input.body
  if (input.trigger) ctx.trigger = input.trigger
  if (input.endpoint) ctx.endpoint = endpointOf(input.endpoint)
  ctx.toolbox = {
    httpClient: {
      get: request('GET'),
      post: request('POST'),
      put: request('PUT'),
      patch: request('PATCH'),
      delete: request('DELETE'),
    },
    base64: { encode, decode },
    secrets: { get: (name: unknown) => call('secret', name) ?? undefined },
  }
  return ctx
}

/** The world of rules, for the sandbox. */
export const ruleWorld = buildContext.toString()
