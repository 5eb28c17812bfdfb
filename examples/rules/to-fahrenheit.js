// Adds a derived sample with the data-sample action. The derived sample starts this rule again: it must return null for it,
// otherwise the rule runs in a circle until the limit of 10 ends the chain.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
