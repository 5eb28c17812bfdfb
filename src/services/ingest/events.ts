import { defineEvent } from '../../kernel/bus.ts'

export const PipelinesChanged = defineEvent<{ tenantId: string }>('ingest.pipelines.changed', {
  description: 'Pipelines of a tenant were created, replaced or deleted',
})

export const TemplateChanged = defineEvent<{ tenantId: string; applicationName: string }>('ingest.template.changed', {
  description: 'The template of an application was created, replaced or deleted',
  key: ({ applicationName }) => applicationName,
})

export const IndexChanged = defineEvent<{ tenantId: string; applicationName: string }>('ingest.index.changed', {
  description:
    'Documents of an application have fields that they did not have before, or a pipeline changed their origin or time',
  key: ({ applicationName }) => applicationName,
})
