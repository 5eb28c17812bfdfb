// Opens the alert above 30 and resolves it below 25. In between it returns null, which runs no action, so the alert does not
// flicker when the temperature stays near a limit.
const [{ temperature }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
if (temperature > 30) return true
if (temperature < 25) return false
return null
