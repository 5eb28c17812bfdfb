/** Fields that each action type requires, except rule-execution, which needs a rule. */
export const sampleActions: Record<string, object> = {
  webhook: { webhookUrl: 'https://example.org/hook' },
  'send-email': { recipientsExpression: 'a@example.org', subjectExpression: 's', textExpression: 't' },
  'command-invocation': { commandType: 'reboot' },
  'metadata-update': { metadataExpression: '{"hot":true}' },
  'data-sample': { dataSampleExpression: 'return { t: 1 }' },
  'time-series': { timeSeriesName: 'comfort', valuesExpression: '21.5' },
  'alert-activation': { alertType: 'HEAT' },
  'alert-resolution': { alertType: 'HEAT' },
}
