/**
 * Builds `ctx` inside the sandbox. The sandbox compiles the source text of `createWorld`, so the function cannot use variables of this
 * module.
 */

export interface EndpointInput {
  endpointId: string
  appName?: string | undefined
  appVersionName?: string | undefined
  /** In an evaluation: metadata in the request body, which is used instead of the stored metadata. */
  metadata?: unknown
}

/** The JSON from which a context is built: its own members, and the members of a request body. */
export interface ContextInput {
  tenantId: string
  endpoint?: EndpointInput | undefined
  trigger?: Record<string, unknown> | undefined
  data: unknown
  body?: unknown
  [member: string]: unknown
}

type Call = (name: string, ...args: unknown[]) => unknown

interface Base64 {
  encode(value: unknown): string
  decode(value: unknown): string
}

/** Implements base64 of texts in UTF-8, because QuickJS has no functions for it. */
function createBase64(): Base64 {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
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
  return { encode, decode }
}

/**
 * Prepares everything that all contexts share. This happens once, for the memory image, because it takes as long as a short script. Scripts
 * may change these objects, but every run starts from the image again.
 */
function createWorld(base64: Base64) {
  let host: Call
  const knownMetadata = new Map<object, unknown>()

  const read = (kind: string, endpointId: unknown, ...args: unknown[]) => host('read', kind, endpointId, ...args)
  const timeOf = (value: unknown) => (value instanceof Date ? value.getTime() : value)
  const endpointPrototype = {}
  const endpointOf = (endpoint: EndpointInput): EndpointInput => {
    const { metadata } = endpoint
    if (metadata !== undefined) {
      knownMetadata.set(endpoint, metadata)
      delete endpoint.metadata
    }
    return Object.setPrototypeOf(endpoint, endpointPrototype)
  }
  const methods: Record<string, (this: EndpointInput, ...args: never[]) => unknown> = {
    getMetadata(key?: string) {
      if (!knownMetadata.has(this)) knownMetadata.set(this, read('metadata', this.endpointId))
      const all = knownMetadata.get(this)
      return key === undefined ? all : (all as Record<string, unknown>)[key]
    },
    getTimeSeries(name: string) {
      const { endpointId } = this
      return {
        last(count?: number) {
          const points = read('last', endpointId, name, count ?? 1) as unknown[]
          return count === undefined ? (points[0] ?? null) : points
        },
        range: (from: unknown, to: unknown) => read('range', endpointId, name, timeOf(from), timeOf(to)),
      }
    },
    getChildren() {
      return (read('children', this.endpointId) as EndpointInput[]).map(endpointOf)
    },
    getParents() {
      return (read('parents', this.endpointId) as EndpointInput[]).map(endpointOf)
    },
    getConfiguration(name?: string) {
      return read('configuration', this.endpointId, name)
    },
    getFilters() {
      return read('filters', this.endpointId)
    },
  }
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(endpointPrototype, name, { value })

  const request = (method: string) => (url: unknown, options?: unknown) => host('http', method, url, options ?? {})
  const toolbox = {
    httpClient: {
      get: request('GET'),
      post: request('POST'),
      put: request('PUT'),
      patch: request('PATCH'),
      delete: request('DELETE'),
    },
    base64,
    secrets: { get: (name: unknown) => host('secret', name) ?? undefined },
  }
  return (ctx: ContextInput, call: Call): ContextInput => {
    host = call
    if (ctx.endpoint) endpointOf(ctx.endpoint)
    ctx.toolbox = toolbox
    return ctx
  }
}

/** The source text of the world for the sandbox. */
export const ruleWorld = `(${createWorld})((${createBase64})())`
