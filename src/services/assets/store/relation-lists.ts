/** Finds pages of relations of some entities, including relations of the register. Every page is read with an index. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { EntityType, RegisterRelations, RelationType } from './relations.ts'
import { isVisibleAsset, isVisibleEndpoint, type Visibility } from './visibility.ts'

export type Direction = 'outbound' | 'inbound'
export type Source = 'assets' | 'register'

/** A relation from the perspective of one of its ends. */
export interface SeenRelation {
  type: RelationType
  ownId: string
  otherType: EntityType
  otherId: string
  createdDate: Date
}

export interface EndedRelation extends SeenRelation {
  endedDate: Date
  number: number
}

export interface RelationSelection {
  source: Source
  direction: Direction
  tenantId: string
  entityType: EntityType
  entityIds: string[]
  visibility: Visibility
}

/**
 * Returns all relations of the source as rows. The columns `own_…` are the end that a list is requested for, `other_…` the opposite end. The
 * register contains only relations between endpoints.
 */
function ends(
  sql: Sql,
  { source, direction }: Pick<RelationSelection, 'source' | 'direction'>,
  rows: Fragment,
  more: Fragment,
) {
  const [ownEnd, otherEnd] = direction === 'outbound' ? [sql`from`, sql`to`] : [sql`to`, sql`from`]
  if (source === 'register')
    return sql`
      select tenant_id, 'CONTAINS' as type, 'ENDPOINT' as own_type, ${ownEnd}_id as own_id, 'ENDPOINT' as other_type,
        ${otherEnd}_id as other_id, created_date ${more} from (${rows}) as r`
  return sql`
    select tenant_id, type, ${ownEnd}_type as own_type, ${ownEnd}_id as own_id, ${otherEnd}_type as other_type,
      ${otherEnd}_id as other_id, created_date ${more} from (${rows}) as r`
}

/** Joins the endpoint at the other end, to check the permissions of the caller. */
const joinEndpoint = (sql: Sql, register: RegisterRelations) => sql`
  left join (${register.endpoints(sql)}) as e
    on s.other_type = 'ENDPOINT' and e.endpoint_id = s.other_id and e.tenant_id = s.tenant_id`

const ofEntities = (sql: Sql, { tenantId, entityType, entityIds }: RelationSelection) =>
  sql`s.tenant_id = ${tenantId} and s.own_type = ${entityType} and s.own_id = any(${entityIds}::text[])`

/** Finds a page of the current relations, ordered by both ends. Relations with an endpoint that is being unregistered are left out. */
export async function findCurrent(
  sql: Sql,
  register: RegisterRelations,
  selection: RelationSelection,
  page: { after: SeenRelation | undefined; limit: number },
): Promise<SeenRelation[]> {
  const rows = selection.source === 'register' ? register.current(sql) : sql`select * from assets.relations`
  const { after } = page
  return await sql<SeenRelation[]>`
    select s.type, s.own_id, s.other_type, s.other_id, s.created_date from (${ends(sql, selection, rows, sql``)}) as s
    ${joinEndpoint(sql, register)}
    where ${ofEntities(sql, selection)}
      ${after ? sql`and (s.own_id, s.other_type, s.other_id, s.type) > (${after.ownId}, ${after.otherType}, ${after.otherId}, ${after.type})` : sql``}
      and ((s.other_type = 'ASSET' and ${isVisibleAsset(sql, sql`s.other_id`, selection.visibility)})
        or (e.endpoint_id is not null and ${isVisibleEndpoint(sql, selection.visibility)}))
    order by s.own_id, s.other_type, s.other_id, s.type limit ${page.limit}`
}

/**
 * Finds a page of the relations that have ended, latest end first. If the entity at the other end was deleted, the relation is returned
 * only to callers that may read all entities of that type.
 */
export async function findEnded(
  sql: Sql,
  register: RegisterRelations,
  selection: RelationSelection,
  page: { after: EndedRelation | undefined; limit: number },
): Promise<EndedRelation[]> {
  const rows = selection.source === 'register' ? register.ended(sql) : sql`select * from assets.ended_relations`
  const { visibility } = selection
  return await sql<EndedRelation[]>`
    select s.type, s.own_id, s.other_type, s.other_id, s.created_date, s.ended_date, s.number
    from (${ends(sql, selection, rows, sql`, ended_date, number`)}) as s ${joinEndpoint(sql, register)}
    where ${ofEntities(sql, selection)} ${page.after ? sql`and s.number < ${page.after.number}` : sql``}
      and ((s.other_type = 'ASSET' and ${isVisibleAsset(sql, sql`s.other_id`, visibility)})
        or (s.other_type = 'ENDPOINT' and ${
          visibility.endpoints === 'all'
            ? sql`true`
            : sql`e.endpoint_id is not null and ${isVisibleEndpoint(sql, visibility)}`
        }))
    order by s.number desc limit ${page.limit}`
}
