// Starts by a schedule without endpoints, so there is no ctx.endpoint. `firedAt` is the time in the schedule.
ctx.data.day = ctx.trigger.cron.firedAt.slice(0, 10)
return true
