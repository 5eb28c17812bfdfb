// The same hysteresis as a single expression: false runs the negative actions.
const [{ temperature: t }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return t > 30 ? true : t < 25 ? false : null
