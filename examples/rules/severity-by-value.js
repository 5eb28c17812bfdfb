// Keeps the value for the actions in ctx.data. A script of the action chooses the severity.
const [{ pressure }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
ctx.data.pressure = pressure
return pressure > 8
