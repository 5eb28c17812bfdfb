// Sends an e-mail when a sensor reports water. Other samples run no action: null instead of false.
const { dataSamples } = ctx.trigger.endpointDataSamplesReceived
return dataSamples.some((sample) => sample.leak === 1) ? true : null
