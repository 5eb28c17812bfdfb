// Switches the lamps whose endpoint ids are in the metadata of the button that was pressed. The action reads them.
const [{ pressed }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return pressed === true ? true : null
