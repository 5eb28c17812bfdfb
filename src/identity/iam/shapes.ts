/** Shapes that several resources share. */
import { offsetQuery } from '../../kernel/paging.ts'
import { Type } from '../../kernel/schema.ts'
import { scopePattern } from '../scopes.ts'

/** As long as an address may be: what is too long for an id is just not there. */
export const ById = Type.Object({ id: Type.String({ maxLength: 2048 }) })
/** Who a key belongs to, a grant is for, or a request comes from. */
export const SubjectName = Type.Object({ type: Type.String(), id: Type.String() }, { title: 'Subject' })
export const ScopeName = () => Type.String({ minLength: 1, maxLength: 128, pattern: scopePattern })
export const Scopes = (options: { minItems?: number } = {}) => Type.Array(ScopeName(), { maxItems: 1000, ...options })
export const RoleName = () => Type.String({ maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9 ._:-]*$' })
export const RoleNames = () => Type.Array(RoleName(), { maxItems: 100 })
export const Page = Type.Object(offsetQuery(100))
/** Seen by people: no line breaks, no invisible characters, no space at either end. */
export const visibleText = '^[^\\s\\p{Cc}\\p{Cf}]([^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]*[^\\s\\p{Cc}\\p{Cf}])?$'
