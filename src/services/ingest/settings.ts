import { ConfigurationError, daysOrForEver, defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const ingestSettings = defineSettings(
  {
    DOCUMENT_DAYS: {
      kind: 'integer',
      default: '30',
      range: daysOrForEver,
      meaning: 'days that documents for search are kept if their template sets no other number; 0: for ever',
    },
    SEARCH_URL: {
      kind: 'url',
      default: undefined,
      meaning:
        'an Elasticsearch or OpenSearch that stores the documents and answers searches; default: PostgreSQL stores and searches them',
      secret: true,
    },
    SEARCH_QUEUE_DOCUMENTS: {
      kind: 'integer',
      default: '1000000',
      meaning:
        'documents that may wait for the search engine of WAYPOST_SEARCH_URL; further documents are kept in PostgreSQL only',
    },
    INGEST_THREADS: {
      kind: 'integer',
      default: '2',
      range: [1, 1000],
      meaning: 'threads of this process that run pipelines',
    },
    PAINLESS_REGEX: {
      kind: 'switch',
      default: 'on',
      meaning: 'whether Painless scripts of pipelines may use regular expressions',
    },
  },
  (value) => ({
    documentDays: value.DOCUMENT_DAYS,
    searchUrl: webAddress(value.SEARCH_URL),
    queueDocumentsMax: value.SEARCH_QUEUE_DOCUMENTS,
    threads: value.INGEST_THREADS,
    regexEnabled: value.PAINLESS_REGEX,
  }),
)

function webAddress(url: string | undefined): string | undefined {
  if (url !== undefined && !/^https?:\/\//i.test(url))
    throw new ConfigurationError(
      'WAYPOST_SEARCH_URL is not valid; expected an address such as https://user:password@host:9200',
    )
  return url
}

export type IngestSettings = SettingsOf<typeof ingestSettings>
