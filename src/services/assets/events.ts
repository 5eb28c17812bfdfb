import { defineEvent } from '../../kernel/bus.ts'

export interface RelatedEntity {
  entityType: 'ASSET' | 'ENDPOINT'
  entityId: string
}

export interface EntityRelation {
  type: 'CONTAINS' | 'MANAGES'
  from: RelatedEntity
  to: RelatedEntity
}

export const EntityRelationsUpdated = defineEvent<{
  tenantId: string
  linked: EntityRelation[]
  unlinked: EntityRelation[]
}>('assets.relations.updated', {
  description:
    'Assets and endpoints were linked or unlinked (26/ARMP); `register.relations.updated` reports CONTAINS between two endpoints. ' +
    'Published only if a service handles it, and not when an entity is deleted',
})
