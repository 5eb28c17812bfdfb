// Starts when a command is sent to its device, and stores the type of the last command in the metadata.
ctx.data.type = ctx.trigger.endpointCommandDispatched.commandType
return true
