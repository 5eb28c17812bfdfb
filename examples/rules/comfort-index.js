// Stores a computed value as a time series of its own.
const [{ temperature, humidity }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
if (temperature === undefined || humidity === undefined) return null
ctx.data.comfort = Math.round(10 * (temperature - 0.55 * (1 - humidity / 100) * (temperature - 14.5))) / 10
return true
