// Runs no action outside of working hours. Dates are in UTC; give the schedule a time zone if you need local times.
const hour = new Date(ctx.trigger.cron.firedAt).getUTCHours()
return hour >= 7 && hour < 18 ? true : null
