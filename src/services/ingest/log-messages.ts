import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const documentRejected = defineLogMessage({
  level: 'warn',
  text: 'PostgreSQL did not accept a document; only its error is kept, and its sample is stored',
  cause: 'A pipeline made a document that cannot be stored as jsonb, for example with numbers of thousands of digits.',
  action: 'Look at the pipeline of the application. Time series are not affected.',
})
export const pipelineThreadFailed = defineLogMessage({
  level: 'warn',
  text: 'a thread that runs pipelines failed; another one continues its documents',
  cause: 'A defect of the platform, or a machine without memory.',
  action: 'Report it, with the error in the line. Documents that could not be processed have `ingestError`.',
})
