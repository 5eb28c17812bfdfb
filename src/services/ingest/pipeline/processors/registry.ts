import { date } from './date.ts'
import type { ProcessorDefinition } from './define.ts'
import { append, remove, rename, set } from './fields.ts'
import { drop, fail, foreach, pipeline, script } from './flow.ts'
import { gsub, lowercase, split, trim, uppercase } from './texts.ts'
import { convert, json } from './values.ts'

/** Every processor by its name in a pipeline. */
export const processors: Record<string, ProcessorDefinition> = {
  append,
  convert,
  date,
  drop,
  fail,
  foreach,
  gsub,
  json,
  lowercase,
  pipeline,
  remove,
  rename,
  script,
  set,
  split,
  trim,
  uppercase,
}

export const findProcessor = (type: string): ProcessorDefinition | undefined =>
  Object.hasOwn(processors, type) ? processors[type] : undefined

/** Options that every processor has. */
export const commonOptions: Record<string, string> = {
  if: 'Painless condition; the processor runs where it is true.',
  ignore_failure: 'True when the pipeline continues after a failure of this processor. Default: false.',
  on_failure: 'Processors that run when this processor fails.',
  tag: 'Name of this processor in failures.',
  description: 'Text for readers.',
}
