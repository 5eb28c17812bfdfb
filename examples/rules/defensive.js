// Devices send what they like. Unexpected samples run no action instead of failing the rule.
const value = ctx.trigger.endpointDataSamplesReceived?.dataSamples?.[0]?.temperature
return typeof value === 'number' && Number.isFinite(value) ? value > 30 : null
