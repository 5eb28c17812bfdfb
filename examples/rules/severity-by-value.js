// Stores the value in ctx.data, where scripts of actions can read it. A script of the action chooses the severity.
const [{ pressure }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
ctx.data.pressure = pressure
return pressure > 8
