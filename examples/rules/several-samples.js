// A message may contain several samples. This rule counts the samples above the limit, and runs its actions if there are more than two.
const { dataSamples } = ctx.trigger.endpointDataSamplesReceived
return dataSamples.filter(({ noise }) => noise > 80).length > 2
