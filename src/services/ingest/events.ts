import { defineEvent } from '../../kernel/bus.ts'

export const PipelinesChanged = defineEvent<{ tenantId: string }>('ingest.pipelines.changed', {
  description: 'Pipelines of a tenant were created, replaced or deleted',
})

export const TemplateChanged = defineEvent<{ tenantId: string; applicationName: string }>('ingest.template.changed', {
  description: 'The template of an application was created, replaced or deleted',
  key: ({ applicationName }) => applicationName,
})
