// Switches the lamps whose endpoint ids are in the metadata of the button that was pressed. The action reads these ids.
const [{ pressed }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return pressed === true ? true : null
