/** Converts the fields of a software version to values of a form, and back. */
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { parseJson } from '../../parts/json-field.tsx'

export type Software = BodyOf<'software.get'>
export type Strategy = Software['rolloutStrategy']
export type RolloutFilter = Software['filters'][number]
export type SoftwareUpdate = ArgumentsOf<'software.update'>['body']

export interface RolloutValues {
  rolloutStrategy: Strategy
  upgradableFrom: string[]
  filters: RolloutFilter[]
  skipDispatchingToEndpoint: boolean
  /** True if the rollout halts automatically after failures. */
  failureThreshold: boolean
  percent: number
  minimumAttempts: number
  /** Metadata as JSON; an empty text means no metadata. */
  metadata: string
}

export const textOfJson = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2))

export const valuesOf = (software: Software): RolloutValues => ({
  rolloutStrategy: software.rolloutStrategy,
  upgradableFrom: software.upgradableFrom,
  filters: software.filters,
  skipDispatchingToEndpoint: software.skipDispatchingToEndpoint,
  failureThreshold: software.failureThreshold !== undefined,
  percent: software.failureThreshold?.percent ?? 10,
  minimumAttempts: software.failureThreshold?.minimumAttempts ?? 10,
  metadata: textOfJson(software.metadata),
})

/** Returns the values of a new version, which is not offered until its rollout is started. */
export const newValues = (newest: string | undefined): RolloutValues => ({
  rolloutStrategy: 'suspended',
  upgradableFrom: newest === undefined ? [] : [newest],
  filters: [],
  skipDispatchingToEndpoint: true,
  failureThreshold: true,
  percent: 10,
  minimumAttempts: 10,
  metadata: '',
})

/** Parses a JSON text that may be empty. If it is not JSON, `problem` is the reason. */
export function optionalJson(text: string): { value: unknown; problem: string | undefined } {
  return text.trim() === '' ? { value: undefined, problem: undefined } : parseJson(text)
}

/** Returns the body of an update. An update replaces all fields, so all fields are sent. */
export function bodyOf(values: RolloutValues): SoftwareUpdate {
  const { rolloutStrategy, upgradableFrom, filters, skipDispatchingToEndpoint, percent, minimumAttempts } = values
  const metadata = optionalJson(values.metadata).value
  return {
    ...{ rolloutStrategy, upgradableFrom, filters, skipDispatchingToEndpoint },
    ...(values.failureThreshold && { failureThreshold: { percent, minimumAttempts } }),
    ...(metadata !== undefined && { metadata }),
  }
}
