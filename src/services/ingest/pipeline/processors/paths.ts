import { ConfigError } from '../config.ts'
import { splitPath } from '../document.ts'
import { ProcessorError } from '../failure.ts'

/** Splits a path in a definition. An invalid path is reported as a mistake in the definition. */
export function checkedPath(path: string): string[] {
  try {
    return splitPath(path)
  } catch (error) {
    if (error instanceof ProcessorError) throw new ConfigError(error.message, undefined, error.type)
    throw error
  }
}
