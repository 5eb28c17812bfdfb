/** Type declarations for the parts of oidc-provider 9 that we use. The package has no type declarations. */
declare module 'oidc-provider' {
  import type { EventEmitter } from 'node:events'
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export interface Account {
    accountId: string
    claims(use?: string, scope?: string): Promise<Record<string, unknown>>
  }

  export interface Client {
    clientId: string
    clientAuthMethod: string
    redirectUris: string[]
    grantTypes: string[]
    grantTypeAllowed(type: string): boolean
    redirectUriAllowed(uri: unknown): boolean
    postLogoutRedirectUriAllowed(uri: unknown): boolean
    compareClientSecret(secret: string): Promise<boolean>
    includeSid(): boolean
  }

  export interface Token {
    jti: string
    iat: number
    exp: number
    clientId: string
    scope?: string
    grantId?: string
    sid?: string
    accountId?: string
    extra?: Record<string, unknown>
    readonly expiration: number
    readonly remainingTTL: number
    generateTokenId(): string
    save(): Promise<string>
    destroy(): Promise<void>
    getValueAndPayload(): Promise<{ value: string }>
  }
  export interface TokenClass {
    new (fields: Record<string, unknown>): Token
    prototype: Token
    find(value: unknown): Promise<Token | undefined>
  }

  export interface Grant {
    exp?: number
    addOIDCScope(scope: string): void
    getOIDCScope(): string
    save(): Promise<string>
  }
  export interface GrantClass {
    new (fields: { accountId: string; clientId: string }): Grant
    find(id: string): Promise<Grant | undefined>
    adapter: Adapter
  }

  export interface Session {
    accountId?: string
    authorizations?: Record<string, { grantId?: string }>
    grantIdFor(clientId: string): string | undefined
    sidFor(clientId: string, value?: string): string | undefined
    destroy(): Promise<void>
  }

  export interface IdToken {
    scope: string
    set(claim: string, value: unknown): void
    issue(options: { use: 'idtoken' }): Promise<string>
  }

  export interface Interaction {
    uid: string
    prompt: { name: string }
    params: Record<string, string | undefined>
  }

  export interface OidcContext {
    route?: string
    params?: Record<string, string | undefined>
    requestParamOIDCScopes: Set<string>
    client: Client
    account: Account
    grant?: Grant
    session: Session & { accountId: string }
    entities: Record<string, Token | undefined>
    entity(name: string, value: unknown): void
  }

  /** The parts of Koa's context that we use. */
  export interface Ctx {
    req: IncomingMessage
    method: string
    path: string
    query: Record<string, string | string[] | undefined>
    status: number
    type: string
    body: unknown
    routerName?: string
    oidc: OidcContext
    get(header: string): string
    set(header: string, value: string): void
    remove(header: string): void
    accepts(...types: string[]): string | false
    redirect(url: string): void
    cookies: { set(name: string, value: null, options: { path: string }): void }
  }
  export type Middleware = (ctx: Ctx, next: () => Promise<void>) => Promise<void>

  export interface Adapter {
    upsert(id: string, payload: Record<string, unknown>, expiresIn: number): Promise<void>
    find(id: string): Promise<Record<string, unknown> | undefined>
    findByUid(uid: string): Promise<Record<string, unknown> | undefined>
    findByUserCode(code: string): Promise<undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export interface Provider extends EventEmitter {
    readonly issuer: string
    proxy: boolean
    use(middleware: Middleware): void
    callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>
    urlFor(name: string, options?: object): string
    cookieName(kind: 'session'): string
    registerGrantType(name: string, handler: (ctx: Ctx) => Promise<void>, parameters: string[]): void
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
    interactionFinished(
      req: IncomingMessage,
      res: ServerResponse,
      result: object,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<void>
    Client: { prototype: Client; find(id: unknown): Promise<Client | undefined> }
    Session: { prototype: Session; get(ctx: Ctx): Promise<Session> }
    Grant: GrantClass
    AccessToken: TokenClass
    ClientCredentials: TokenClass
    RefreshToken: TokenClass
    IdToken: {
      new (claims: object, options: { ctx: Ctx }): IdToken
      validate(token: string, client: Client): Promise<unknown>
    }
    OIDCContext: { prototype: { urlFor(name: string, options?: object): string } }
  }
  export const Provider: {
    new (issuer: string, configuration: object): Provider
    /** Context of the current request. */
    readonly ctx: Ctx | undefined
  }

  interface ErrorClass {
    new (detail?: string): OIDCProviderError
  }
  export interface OIDCProviderError extends Error {
    statusCode: number
    error_description?: string
  }
  export const errors: {
    OIDCProviderError: { new (...args: never[]): OIDCProviderError }
    InvalidGrant: ErrorClass
    InvalidRequest: ErrorClass
    UnauthorizedClient: ErrorClass
    TemporarilyUnavailable: ErrorClass
  }
}
