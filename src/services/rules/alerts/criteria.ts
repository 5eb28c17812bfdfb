/** Turns the criteria of a query or body into those of the store; a wrong one is a 400 that names it. */
import { invalidField } from '../../../kernel/errors.ts'
import { listOf } from '../../../kernel/schema.ts'
import {
  acknowledgements,
  alertStates,
  type EntityType,
  entityTypes,
  rankOf,
  type Severity,
  severities,
} from './model.ts'
import type { Criteria, MetadataCriterion } from './service/reading.ts'

type Given = string | string[]

export interface GivenCriteria {
  entityType?: string
  entityIds?: Given
  alertSettingId?: string
  alertType?: Given
  state?: Given
  acknowledgement?: Given
  severityLevel?: Given
  entityMetadataPath?: string
  entityMetadataValue?: string
  metadataPath?: string
  metadataValue?: string
  fromStartedAt?: string
  toStartedAt?: string
}

export function entityTypeOf(text: string | undefined): EntityType | undefined {
  if (text === undefined || text === '') return undefined
  return wordOf('entityType', text.toUpperCase(), entityTypes)
}

export function criteriaOf(given: GivenCriteria): Criteria {
  const acknowledged = wordsOf('acknowledgement', given.acknowledgement, acknowledgements)
  const levels = wordsOf<Severity>('severityLevel', given.severityLevel, severities)
  const { alertSettingId } = given
  if (alertSettingId !== undefined && !/^[0-9a-f-]{36}$/i.test(alertSettingId))
    throw invalidField('alertSettingId', 'expected the id of an alert setting')
  return {
    entityType: entityTypeOf(given.entityType),
    entityIds: listOf(given.entityIds),
    alertSettingId,
    alertTypes: listOf(given.alertType),
    states: wordsOf('state', given.state, alertStates),
    isAcknowledged: acknowledged?.length === 1 ? acknowledged[0] === 'ACKNOWLEDGED' : undefined,
    severities: levels?.map(rankOf),
    metadata: metadataOf('metadata', given.metadataPath, given.metadataValue),
    entityMetadata: metadataOf('entityMetadata', given.entityMetadataPath, given.entityMetadataValue),
    fromStartedAt: given.fromStartedAt === undefined ? undefined : new Date(given.fromStartedAt),
    toStartedAt: given.toStartedAt === undefined ? undefined : new Date(given.toStartedAt),
  }
}

function wordOf<W extends string>(field: string, text: string, words: readonly W[]): W {
  const word = words.find((known) => known === text)
  if (!word) throw invalidField(field, `expected ${words.join(' or ')}`)
  return word
}

function wordsOf<W extends string>(field: string, given: Given | undefined, words: readonly W[]): W[] | undefined {
  const list = listOf(given)
  return list === undefined || list.length === 0
    ? undefined
    : [...new Set(list)].map((text) => wordOf(field, text, words))
}

function metadataOf(field: string, path: string | undefined, value: string | undefined): MetadataCriterion | undefined {
  if (path === undefined) {
    if (value !== undefined) throw invalidField(`${field}Path`, `expected a path for ${field}Value`)
    return undefined
  }
  const keys = path.split('.')
  if (keys.some((key) => key === '')) throw invalidField(`${field}Path`, 'expected keys with dots between them')
  return { path: keys, ...(value !== undefined && { value }) }
}
