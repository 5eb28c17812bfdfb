import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const documentRejected = defineLogMessage({
  level: 'warn',
  text: 'PostgreSQL did not accept a document; the error is stored instead of the document, and the sample is stored as usual',
  cause: 'A pipeline made a document that cannot be stored as jsonb, for example with numbers of thousands of digits.',
  action: 'Look at the pipeline of the application. Time series are not affected.',
})
export const pipelineThreadFailed = defineLogMessage({
  level: 'warn',
  text: 'a thread that runs pipelines failed; another thread continues with the documents of the failed thread',
  cause: 'A defect of the platform, or a machine without memory.',
  action: 'Report this problem with the error in the line. Documents that could not be processed have `ingestError`.',
})
export const engineFailed = defineLogMessage({
  level: 'warn',
  text: 'could not send documents to the search engine; the documents wait in PostgreSQL, retrying',
  cause: 'The search engine of WAYPOST_SEARCH_URL is not reachable, overloaded, or refuses the credentials.',
  action: 'Check the search engine. Samples are acknowledged meanwhile, and documents follow in order.',
})
export const engineAnswersAgain = defineLogMessage({
  level: 'warn',
  text: 'the search engine accepts documents again; waiting documents are being sent',
  cause: 'Sending documents to the search engine had failed before, and succeeds again.',
  action: 'Nothing: the documents that waited are being sent.',
})
export const engineRefused = defineLogMessage({
  level: 'warn',
  text: 'the search engine did not accept documents; these documents are in PostgreSQL only',
  cause: 'The type of a field differs from earlier documents, or the index has too many fields.',
  action: 'Look at the reason. Change the template or the pipeline of the application.',
})
export const queueIsFull = defineLogMessage({
  level: 'error',
  text: 'too many documents wait for the search engine; further documents are in PostgreSQL only and are not sent',
  cause: 'The search engine was unreachable for long, and WAYPOST_SEARCH_QUEUE_DOCUMENTS is reached.',
  action: 'Check the search engine, or raise the limit. Samples are stored and acknowledged as usual.',
})
