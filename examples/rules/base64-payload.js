// Decodes a text that the device sends in base64.
const [{ payload }] = ctx.trigger.endpointDataSamplesReceived.dataSamples
const { state } = JSON.parse(ctx.toolbox.base64.decode(payload))
return state === 'ALARM'
