// Starts when a device has answered a command. Returns true if the command failed, so that the rule runs its webhook action.
const { statusCode } = ctx.trigger.endpointCommandResultReceived
return statusCode >= 400 ? true : null
