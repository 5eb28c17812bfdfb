// Starts when an alert opens, changes, is acknowledged or is resolved. Sends an e-mail to the people on duty only for critical alerts.
const { eventType, alert } = ctx.trigger.alertLifecycleEvent
return eventType === 'ACTIVATED' && alert.severityLevel === 'CRITICAL' ? true : null
