// Sends an e-mail when a sensor reports water. For other samples it returns null, which runs no action; false would run negative actions.
const { dataSamples } = ctx.trigger.endpointDataSamplesReceived
return dataSamples.some((sample) => sample.leak === 1) ? true : null
