/** Creates and opens links. A link is a sealed text, so that every node can open it and nothing is stored. */
import type { Readable } from 'node:stream'
import type { Identity } from '../../identity/contract.ts'
import type { Caller, Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { invalidField } from '../../kernel/errors.ts'
import { LinkCreatorWithoutAccount, LinkedForbidden, LinkedNotFound, LinkedNotReady, LinkInvalid } from './errors.ts'

export interface Download {
  status: number
  headers: Record<string, string>
  body: Readable
}

export interface LinkOperations {
  create(ctx: Ctx, request: { path: string; validSeconds: number }): Promise<{ token: string; expiresDate: Date }>
  open(
    token: string,
    request: { headers: Record<string, string>; address: string; correlationId: string },
  ): Promise<Download>
}

interface Deps {
  kit: Pick<Kit, 'secrets' | 'internalCalls' | 'now' | 'audit' | 'baseUrl'>
  identity: Pick<Identity, 'callerNow'>
}

/** The content of a token. The field `for` distinguishes it from other sealed texts. */
interface Sealed {
  for: 'link'
  tenantId: string
  subject: Caller['subject']
  path: string
  expires: number
}

export const createLinks = (deps: Deps): LinkOperations => ({
  create: (ctx, request) => create(deps, ctx, request),
  open: (token, request) => open(deps, token, request),
})

async function create({ kit, identity }: Deps, ctx: Ctx, request: { path: string; validSeconds: number }) {
  const { tenantId, caller } = ctx
  const path = pathOf(request.path, kit.baseUrl())
  const creator = await identity.callerNow(tenantId, caller.subject)
  if (!creator) throw LinkCreatorWithoutAccount()
  const { status, body } = await kit.internalCalls.download(creator, { url: path })
  if (status >= 400) throw refusalOf(status, await messageOf(body))
  body.destroy()
  const expires = kit.now().getTime() + request.validSeconds * 1000
  const sealed: Sealed = { for: 'link', tenantId, subject: caller.subject, path, expires }
  return { token: kit.secrets.seal(JSON.stringify(sealed)), expiresDate: new Date(expires) }
}

/** Returns the path and query. Throws a 400 for a URL of another platform, and for a path that is not in canonical form. */
function pathOf(requestedUrl: string, baseUrl: string): string {
  const path = requestedUrl.startsWith(`${baseUrl}/`) ? requestedUrl.slice(baseUrl.length) : requestedUrl
  const url = URL.parse(path, 'http://platform.invalid')
  const isPlain =
    path.startsWith('/') && url?.origin === 'http://platform.invalid' && url.pathname + url.search === path
  if (!isPlain) throw invalidField('path', 'expected the path of a download, or its URL on this platform')
  return path
}

function refusalOf(status: number, problem: string) {
  if (status === 403) return LinkedForbidden({ problem })
  if (status === 404) return LinkedNotFound({ problem })
  if (status === 409) return LinkedNotReady({ problem })
  return invalidField('path', problem)
}

const messageBytesMax = 16_384

/** Returns the message of an error response, which is short. */
async function messageOf(body: Readable): Promise<string> {
  let text = ''
  for await (const piece of body) {
    text += piece
    if (text.length > messageBytesMax) break
  }
  try {
    const { message } = JSON.parse(text)
    return String(message).replace(/^path: /, '')
  } catch {
    return 'it cannot be downloaded'
  }
}

function readToken({ secrets, now }: Pick<Kit, 'secrets' | 'now'>, token: string): Sealed {
  let sealed: Partial<Sealed>
  try {
    sealed = JSON.parse(secrets.open(token))
  } catch {
    throw LinkInvalid()
  }
  if (sealed?.for !== 'link' || !sealed.expires || sealed.expires <= now().getTime()) throw LinkInvalid()
  return sealed as Sealed
}

async function open({ kit, identity }: Deps, token: string, request: Parameters<LinkOperations['open']>[1]) {
  const { tenantId, subject, path } = readToken(kit, token)
  const creator = await identity.callerNow(tenantId, subject)
  if (!creator) throw LinkInvalid()
  const download = await kit.internalCalls.download(creator, { url: path, headers: request.headers })
  const { status } = download
  const { address, correlationId } = request
  const actor = { ...subject, name: creator.username }
  kit.audit.record({ tenantId, operation: 'links.used', actor, address, correlationId, resource: path, status })
  if (status < 400 || status === 416) return download
  download.body.destroy()
  throw LinkInvalid()
}
