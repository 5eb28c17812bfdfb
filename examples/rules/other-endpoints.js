// Acts on endpoints that the script names instead of the one of the event: they are listed in its metadata.
const [{ pressed }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return pressed === true ? true : null
