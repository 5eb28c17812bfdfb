/**
 * The schema for the form of a link, which is a trigger or an action of a rule. It has the fields of the API, with the applications and
 * rules of the tenant as choices.
 */

import { useMemo } from 'react'
import { useApplications } from '../../api/applications.ts'
import { type BodySchema, useBodySchema } from '../../api/body-schema.ts'
import { useList } from '../../api/query.ts'
import type { Problem } from '../../parts/problem.ts'
import { collapsed } from '../../parts/schema/schema.ts'
import { fieldTexts as texts } from './field-texts.ts'
import { type ActionType, nounOf, type TriggerType } from './kinds.ts'

const listOfTexts = { type: 'array', items: { type: 'string' } }
const someOf = (...values: string[]) => ({ type: 'array', uniqueItems: true, items: { enum: values } })

/** Schemas of arrays and objects. The form is made from the descriptions of the SDK, which give only the kind `json` for these fields. */
const shapes: Record<string, Record<string, unknown>> = {
  endpointIds: listOfTexts,
  alertTypes: listOfTexts,
  metadataKeys: listOfTexts,
  timeSeriesNames: listOfTexts,
  eventTypes: someOf('ACTIVATED', 'RESOLVED', 'ACKNOWLEDGED', 'UPDATED'),
  severityLevels: someOf('CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'),
  retryConfig: {
    type: 'object',
    properties: {
      maxAttempts: { type: 'integer', minimum: 1, title: texts.maxAttempts },
      timeoutMs: { type: 'integer', minimum: 0, title: texts.timeoutMs },
      backoffMultiplier: { type: 'number', minimum: 1, title: texts.backoffMultiplier },
    },
  },
}

/** Fields that the form leaves out: `name` has a separate input, the platform sets `valueTypes`, and `uiMetadata` is for other clients. */
const hidden = new Set(['name', 'uiMetadata', 'valueTypes'])
const choicesMax = 200
const scriptSentence = / A text that parses as a JavaScript function body.*$/

/** Returns the choices of a field. If there are too many, the field stays a plain text. */
const choicesOf = (values: { const: string; title: string }[]) =>
  values.length > 0 && values.length <= choicesMax ? { type: undefined, oneOf: values } : {}

/** Returns the position of a field: required fields first, then other fields, then optional scripts, and the description last. */
const rankOf = (name: string, required: string[], isScript: boolean) =>
  required.includes(name) ? 0 : name === 'description' ? 3 : isScript ? 2 : 1

export function useLinkSchema(kind: 'trigger' | 'action', type: TriggerType | ActionType): BodySchema | undefined {
  const body = useBodySchema(`${nounOf(kind, type)}.create`)
  const applications = useApplications()
  const rules = useList('rules.list', { size: choicesMax }, { enabled: type === 'rule-execution' })
  return useMemo(() => {
    if (!body) return undefined
    const choices: Record<string, Record<string, unknown>> = {
      appName: choicesOf(
        applications.items.map(({ name, displayName }) => ({ const: name, title: displayName ?? name })),
      ),
      appVersionName: choicesOf(
        applications.items.flatMap(({ versions }) => versions.map(({ name }) => ({ const: name, title: name }))),
      ),
      ruleId: choicesOf(rules.items.map(({ id, name }) => ({ const: id, title: name }))),
    }
    const isScript = ({ description }: Record<string, unknown>) => scriptSentence.test(String(description))
    const shown = Object.entries(body.properties)
      .filter(([name]) => !hidden.has(name))
      .sort(
        ([one, first], [other, second]) =>
          rankOf(one, body.required, isScript(first)) - rankOf(other, body.required, isScript(second)),
      )
    return {
      type: 'object',
      required: body.required.filter((name) => !hidden.has(name)),
      properties: Object.fromEntries(
        shown.map(([name, property]) => {
          const description = String(property.description ?? '').replaceAll('`', '')
          const isOptionalScript = isScript(property) && !body.required.includes(name)
          return [
            name,
            {
              ...property,
              ...shapes[name],
              ...choices[name],
              ...(texts.titles[name] !== undefined && { title: texts.titles[name] }),
              ...(isScript(property) && { format: 'textarea' }),
              ...(isOptionalScript && { [collapsed]: true }),
              description: isScript(property)
                ? `${description.replace(scriptSentence, '')} ${texts.script}`
                : description,
            },
          ]
        }),
      ),
    }
  }, [body, applications.items, rules.items])
}

/** Returns the error of the platform as a violation of the field that the error names. The form shows the message at this field. */
export const violationsOf = (problem: Problem | undefined) =>
  problem?.field === undefined
    ? []
    : [{ path: `/${problem.field.replaceAll(/[.[\]]+/g, '/').replace(/\/$/, '')}`, message: problem.message }]
