/** The declaration of a trigger type. A new type needs a file in this folder and a line in trigger-types.ts. */
import { type TSchema, Type } from '../../../../kernel/schema.ts'
import type { TriggerType } from '../../model.ts'

export interface TriggerTypeDefinition {
  type: TriggerType
  /** Another name of the type in paths. Existing clients use it. */
  alias?: string
  /** Name in the API reference: `CronTrigger`. */
  title: string
  /** Describes when a trigger of this type starts rules, for the API reference. */
  description: string
  fields: Readonly<Record<string, TSchema>>
  /** True if the trigger need not name an application, version or endpoint. If it names none, its runs have no endpoint. */
  isStandalone?: boolean
  /** Checks conditions that a schema cannot express, and returns the fields with defaults. */
  complete?(fields: Record<string, unknown>): Record<string, unknown>
  example: Record<string, unknown>
}

/** A list of texts. An absent list does not restrict the trigger. An empty list is rejected, because it would match nothing. */
export const listOfNames = (item: TSchema, description: string) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: 1000, description }))

export const example = { name: 'of all rooms', appName: 'rooms' }
