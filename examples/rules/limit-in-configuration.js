// Reads the limit from the configuration of the endpoint, so that the limit can be changed without changing the rule.
const [{ temperature }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
const limit = ctx.endpoint.getConfiguration()?.limit ?? 30
return temperature > limit
