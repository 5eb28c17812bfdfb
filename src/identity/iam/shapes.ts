/** Schemas that several resources share. */
import { offsetQuery } from '../../kernel/paging.ts'
import { Type } from '../../kernel/schema.ts'
import { scopePattern } from '../scopes.ts'

/** Accepts any id that fits into a URL. An id that is longer than the ids of objects gets 404 like any other unknown id, not 400. */
export const byId = (noun: string) =>
  Type.Object({ id: Type.String({ maxLength: 2048, description: `Id of the ${noun}.` }) })
/** The owner of a key, the holder of a grant, or the caller of a request. */
export const SubjectName = Type.Object(
  {
    type: Type.String({ description: 'Kind of the subject: user, role, client or api-key.' }),
    id: Type.String({ description: 'Id of the user, client or API key, or name of the role.' }),
  },
  { title: 'Subject', description: 'A user, role, client or API key of the tenant.' },
)
export const ScopeName = () =>
  Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: scopePattern,
    description: 'Name of a scope, such as `endpoint:read`; `*` is every scope.',
  })
export const Scopes = (description: string, options: { minItems?: number } = {}) =>
  Type.Array(ScopeName(), { maxItems: 1000, description, ...options })
export const RoleName = () =>
  Type.String({
    maxLength: 100,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9 ._:-]*[A-Za-z0-9._:-])?$',
    description:
      'Name of the role: 1 to 100 letters, digits, spaces and `.` `_` `:` `-`, beginning with a letter or digit, without a space at the end.',
  })
export const RoleNames = (description: string) => Type.Array(RoleName(), { maxItems: 100, description })
/** Returns the schema of a list of scope names in a response. `roleNames` does so for role names. */
export const scopeNames = (description: string) =>
  Type.Array(Type.String({ description: 'Name of a scope.' }), { description })
export const roleNames = (description: string) =>
  Type.Array(Type.String({ description: 'Name of a role.' }), { description })
export const Page = Type.Object(offsetQuery(100))
/** Matches texts for people: no line breaks, no invisible characters, no space at either end. */
export const visibleText = '^[^\\s\\p{Cc}\\p{Cf}]([^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]*[^\\s\\p{Cc}\\p{Cf}])?$'
