// The same expression for the sample that `to-fahrenheit` has derived: it has no tempC, so no action runs.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
