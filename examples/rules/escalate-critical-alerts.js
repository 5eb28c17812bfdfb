// Starts when an alert opens, changes, is acknowledged or resolved. Writes to the people on duty only for critical ones.
const { eventType, alert } = ctx.trigger.alertLifecycleEvent
return eventType === 'ACTIVATED' && alert.severityLevel === 'CRITICAL' ? true : null
