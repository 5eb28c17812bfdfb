// Adds a derived sample with the data-sample action. The derived sample starts this rule again. The rule must return null for it; otherwise
// the rule starts itself again and again, until the limit of 10 runs is reached.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
