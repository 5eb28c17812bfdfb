// The same expression as in `to-fahrenheit.js`. The event of this example is the sample that the rule has derived. It has no tempC, so the
// rule returns null and no action runs.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.tempC === undefined ? null : true
