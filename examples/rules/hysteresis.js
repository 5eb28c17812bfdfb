// Opens the alert above 30 and resolves it below 25. In between, the rule returns null, which runs no action. The alert therefore does not
// open and close repeatedly when the temperature stays near a limit.
const [{ temperature }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
if (temperature > 30) return true
if (temperature < 25) return false
return null
