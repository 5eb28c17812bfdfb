// Sends an e-mail when a sensor reports water. For other samples the rule returns null, which runs no action. The value false would run
// negative actions.
const { dataSamples } = ctx.trigger.endpointDataSamplesReceived
return dataSamples.some((sample) => sample.leak === 1) ? true : null
