import { ConfigError } from '../config.ts'
import { splitPath } from '../document.ts'
import { ProcessorError } from '../failure.ts'

/** Splits a path that stands in a definition; a wrong one is a mistake of the definition. */
export function checkedPath(path: string): string[] {
  try {
    return splitPath(path)
  } catch (error) {
    if (error instanceof ProcessorError) throw new ConfigError(error.message, undefined, error.type)
    throw error
  }
}
