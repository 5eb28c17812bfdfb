// Opens an alert when the temperature of a sample is too high, and resolves the alert with the first sample whose temperature is not too
// high. Positive action: alert activation. Negative action: alert resolution.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.temperature > 30
