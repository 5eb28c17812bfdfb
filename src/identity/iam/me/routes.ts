import { invalidField, NotFound } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import type { OwnPassword } from '../../account/own-password.ts'
import { canonicalScopes } from '../../scopes.ts'
import { PasswordAttemptsExceeded, UsersOnly, WrongPassword } from '../errors.ts'
import { changeOwnPassword, readMe } from './schemas.ts'

export function meRoutes(http: Http, ownPassword: OwnPassword) {
  http.get('/me', { schema: readMe, config: { scope: 'authenticated' } }, ({ ctx: { caller } }) => ({
    tenantId: caller.tenantId,
    subject: caller.subject,
    ...(caller.username !== undefined && { username: caller.username }),
    roles: caller.roles,
    permissions: caller.permissions.map(({ resource, scopes }) => ({ resource, scopes: canonicalScopes([...scopes]) })),
  }))

  http.put(
    '/me/password',
    { schema: changeOwnPassword, config: { scope: 'authenticated' } },
    async ({ ctx, body, raw }, reply) => {
      const { type, id } = ctx.caller.subject
      if (type !== 'user') throw UsersOnly()
      const passwords = { present: body.presentPassword, next: body.newPassword, address: raw.address }
      const outcome = await ownPassword.change(ctx.tenantId, id, passwords)
      if (outcome === 'changed') return reply.code(204).send()
      // A user of an external issuer has no password here.
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
