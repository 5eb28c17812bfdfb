// The expression of `to-fahrenheit` with the sample that it has derived: this sample has no tempC, so no action runs.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
