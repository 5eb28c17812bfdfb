/** Schemas of names and levels that several types use. */
import { Name, Type } from '../../../kernel/schema.ts'

export const severityLevels = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'] as const
export const severityLevel = (description: string) => Type.Enum([...severityLevels], { description })

const namePattern = '^[A-Za-z0-9_.-]{1,100}$'
export const isAlertType = (text: string) => new RegExp(namePattern).test(text)
export const alertType = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, pattern: namePattern, description })
export const secretName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, pattern: namePattern, description })

export const metadataKey = (description: string) =>
  Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_]+$', description })
export const commandType = (description: string) => Name({ pattern: '^[A-Za-z0-9_-]+$', description })
/**
 * The name of a series. It has no pattern, because series that the platform extracts from samples have names such as `auto~temperature`.
 */
export const timeSeriesName = (description: string) => Name({ description })

export const messageLength = 4000
