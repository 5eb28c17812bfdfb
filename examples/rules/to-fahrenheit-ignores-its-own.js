// The sample that `to-fahrenheit` has derived has no tempC: nothing runs.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
