// The expression of `to-fahrenheit`, here with the sample that this rule has derived. The derived sample has no tempC, so no action runs.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
