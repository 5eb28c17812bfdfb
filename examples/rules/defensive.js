// Devices may send samples of any shape. For an unexpected sample, this rule runs no action instead of failing.
const value = ctx.trigger.endpointDataSamplesReceived?.dataSamples?.[0]?.temperature
return typeof value === 'number' && Number.isFinite(value) ? value > 30 : null
