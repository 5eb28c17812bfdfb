// Starts when an alert opens, changes, is acknowledged or is resolved. Returns true only when a critical alert opens; the action of the
// rule then sends an e-mail to the people on duty.
const { eventType, alert } = ctx.trigger.alertLifecycleEvent
return eventType === 'ACTIVATED' && alert.severityLevel === 'CRITICAL' ? true : null
