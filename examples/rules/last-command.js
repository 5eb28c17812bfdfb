// Starts when a command is handed over to its device, and keeps the type of the last one in the metadata.
ctx.data.type = ctx.trigger.endpointCommandDispatched.commandType
return true
