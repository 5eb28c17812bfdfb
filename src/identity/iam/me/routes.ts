import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { notModified } from '../../../kernel/etag.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import type { OwnPassword } from '../../account/own-password.ts'
import { canonicalScopes } from '../../scopes.ts'
import { PasswordAttemptsExceeded, UsersOnly, WrongPassword } from '../errors.ts'
import * as schemas from './schemas.ts'
import type { Me } from './service.ts'

const authenticated = { scope: 'authenticated' }

export function meRoutes(http: Http, me: Me, ownPassword: OwnPassword) {
  callerRoutes(http, ownPassword)
  http.get('/me/profile', { schema: schemas.readProfile, config: authenticated }, ({ ctx }) => me.profile(ctx))

  http.get('/me/sessions', { schema: schemas.listSessions, config: authenticated }, ({ ctx, headers }) =>
    me.sessions(ctx, headers.authorization),
  )
  http.delete(
    '/me/sessions/:id',
    { schema: schemas.endSession, config: authenticated },
    async ({ ctx, params }, reply) => {
      await me.endSession(ctx, params.id)
      return reply.code(204).send()
    },
  )
  http.delete(
    '/me/other-sessions',
    { schema: schemas.endOtherSessions, config: authenticated },
    async ({ ctx, headers }, reply) => {
      await me.endOtherSessions(ctx, headers.authorization)
      return reply.code(204).send()
    },
  )

  http.get(
    '/me/preferences',
    { schema: schemas.readPreferences, config: authenticated },
    async ({ ctx, headers }, reply) => {
      const { preferences, etag } = await me.preferences(ctx)
      reply.header('etag', etag)
      return notModified(headers, etag) ? reply.code(304).send() : preferences
    },
  )
  http.put(
    '/me/preferences',
    {
      schema: schemas.updatePreferences,
      // Changes of preferences are not audited, because clients write them often and they concern only their owner.
      config: { ...authenticated, anyJson: 'inside', bodyBytesMax: schemas.preferencesBytesMax, audited: false },
    },
    async ({ ctx, body, headers }, reply) => {
      const { preferences, etag } = await me.setPreferences(ctx, body, headers['if-match'])
      return reply.header('etag', etag).send(preferences)
    },
  )
}

function callerRoutes(http: Http, ownPassword: OwnPassword) {
  http.get('/me', { schema: schemas.readMe, config: { scope: 'authenticated' } }, ({ ctx: { caller } }) => ({
    tenantId: caller.tenantId,
    subject: caller.subject,
    ...(caller.username !== undefined && { username: caller.username }),
    roles: caller.roles,
    permissions: caller.permissions.map(({ resource, scopes }) => ({ resource, scopes: canonicalScopes([...scopes]) })),
  }))

  http.put(
    '/me/password',
    { schema: schemas.changeOwnPassword, config: { scope: 'authenticated' } },
    async ({ ctx, body, raw }, reply) => {
      const { type, id } = ctx.caller.subject
      if (type !== 'user') throw UsersOnly()
      const passwords = { present: body.presentPassword, next: body.newPassword, address: raw.address }
      const outcome = await ownPassword.change(ctx.tenantId, id, passwords)
      if (outcome === 'changed') return reply.code(204).send()
      // A user of an external issuer has no password in this realm.
      if (outcome === 'gone') throw NotFound({ what: `User ${id}` })
      if (outcome === 'wrong') throw WrongPassword()
      if ('problem' in outcome) throw invalidField('newPassword', outcome.problem)
      throw PasswordAttemptsExceeded(
        { seconds: String(outcome.wait) },
        { headers: { 'retry-after': String(outcome.wait) } },
      )
    },
  )
}
