// Starts when a device has answered a command. Calls a webhook if the command failed.
const { statusCode } = ctx.trigger.endpointCommandResultReceived
return statusCode >= 400 ? true : null
