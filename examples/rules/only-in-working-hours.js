// Runs no action outside of working hours. Dates in scripts are in UTC. For local working hours, restrict the hours in the cron expression
// of the trigger instead, and give the trigger a time zone.
const hour = new Date(ctx.trigger.cron.firedAt).getUTCHours()
return hour >= 7 && hour < 18 ? true : null
