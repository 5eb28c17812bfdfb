// Does the same as `hysteresis.js` in a single expression: true opens the alert, and false runs the negative actions, which resolve the
// alert.
const [{ temperature: t }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return t > 30 ? true : t < 25 ? false : null
