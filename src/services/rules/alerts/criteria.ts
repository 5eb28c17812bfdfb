/**
 * Converts the criteria of a request to the criteria of the store. Throws 400 for a wrong criterion; the error names the criterion.
 */
import { invalidField } from '../../../kernel/errors.ts'
import { listOf } from '../../../kernel/schema.ts'
import { timeOf, timeText } from '../../../kernel/times.ts'
import {
  acknowledgements,
  alertStates,
  type EntityType,
  entityTypes,
  rankOf,
  type Severity,
  severities,
} from './model.ts'
import { isUuid } from './service/access.ts'
import type { Criteria, MetadataCriterion } from './service/reading.ts'

type Parameter = string | string[]

export interface GivenCriteria {
  entityType?: string
  entityIds?: Parameter
  alertSettingId?: string
  alertType?: Parameter
  state?: Parameter
  acknowledgement?: Parameter
  severityLevel?: Parameter
  entityMetadataPath?: string
  entityMetadataValue?: string
  metadataPath?: string
  metadataValue?: string
  fromStartedAt?: string | number
  toStartedAt?: string | number
}

export function entityTypeOf(text: string | undefined): EntityType | undefined {
  if (text === undefined || text === '') return undefined
  return wordOf('entityType', text.toUpperCase(), entityTypes)
}

/** Converts the criteria. Relative times count back from `now`. */
export function criteriaOf(parameters: GivenCriteria, now: Date): Criteria {
  const acknowledged = wordsOf('acknowledgement', parameters.acknowledgement, acknowledgements)
  const levels = wordsOf<Severity>('severityLevel', parameters.severityLevel, severities)
  const { alertSettingId } = parameters
  if (alertSettingId !== undefined && !isUuid(alertSettingId))
    throw invalidField('alertSettingId', 'expected the id of an alert setting')
  return {
    entityType: entityTypeOf(parameters.entityType),
    entityIds: listOf(parameters.entityIds),
    alertSettingId,
    alertTypes: listOf(parameters.alertType),
    states: wordsOf('state', parameters.state, alertStates),
    isAcknowledged: acknowledged?.length === 1 ? acknowledged[0] === 'ACKNOWLEDGED' : undefined,
    severities: levels?.map(rankOf),
    metadata: metadataOf('metadata', parameters.metadataPath, parameters.metadataValue),
    entityMetadata: metadataOf('entityMetadata', parameters.entityMetadataPath, parameters.entityMetadataValue),
    fromStartedAt: dateOf('fromStartedAt', parameters.fromStartedAt, now),
    toStartedAt: dateOf('toStartedAt', parameters.toStartedAt, now),
  }
}

function dateOf(field: string, given: string | number | undefined, now: Date): Date | undefined {
  if (given === undefined) return undefined
  const time = timeOf(given, now)
  if (time === undefined) throw invalidField(field, `expected ${timeText}`)
  return new Date(time)
}

function wordOf<W extends string>(field: string, text: string, words: readonly W[]): W {
  const word = words.find((known) => known === text)
  if (!word) throw invalidField(field, `expected ${words.join(' or ')}`)
  return word
}

function wordsOf<W extends string>(
  field: string,
  parameter: Parameter | undefined,
  words: readonly W[],
): W[] | undefined {
  const list = listOf(parameter)
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
