import type { Config } from '../config.ts'
import type { ScriptSettings } from '../scripts.ts'
import type { CompileResult, IngestDocument, Pipeline } from '../types.ts'

export type Run = (document: IngestDocument) => void

/** Settings and functions that a processor may use, while it is compiled or while it runs. */
export interface Context {
  settings: ScriptSettings
  /** Finds a pipeline by name when a document reaches the processor. The pipeline may have mistakes. */
  lookup: (name: string) => CompileResult | undefined
  /** Compiles the processor inside `foreach`. */
  compileProcessor: (definition: unknown, path: string) => Run
  /** Runs another pipeline on the same document. */
  runPipeline: (pipeline: Pipeline, document: IngestDocument) => void
}

export interface ProcessorDefinition {
  /** A sentence for the reference page. */
  summary: string
  /** Options with their meaning, for the reference page. */
  options: Record<string, string>
  compile: (config: Config, context: Context) => Run
}
