/** Defines log messages at warn and above, with their cause and the action for an operator. */
import type { Log } from './log.ts'

export interface LogMessageDefinition {
  level: 'warn' | 'error'
  /** Describes what failed, for which kind of object, and what happens next. Values that vary are fields, not text. */
  text: string
  /** Describes what causes the message, for docs/reference/logs.md. */
  cause: string
  /** Describes what an operator should do. If the platform recovers on its own, the text is "Nothing", followed by the reason. */
  action: string
}

/** Writes the message. `fields` identify the object that the message is about; `err` is the error. */
export type LogMessage = (log: Log, fields?: Record<string, unknown>) => void

/** Every message at warn and above, by its text; `npm run docs` prints them. */
export const logCatalogue = new Map<string, LogMessageDefinition>()

/** Defines a log message at warn or above. Messages are defined once, in `log-messages.ts` of their module. */
export function defineLogMessage(definition: LogMessageDefinition): LogMessage {
  const { level, text } = definition
  if (logCatalogue.has(text)) throw new Error(`the log message "${text}" is defined twice`)
  logCatalogue.set(text, definition)
  return (log, fields = {}) => log[level](fields, text)
}
