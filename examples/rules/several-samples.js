// A message may hold several samples. Counts those above the limit, and acts on more than two.
const { dataSamples } = ctx.trigger.endpointDataSamplesReceived
return dataSamples.filter(({ noise }) => noise > 80).length > 2
