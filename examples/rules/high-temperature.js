// Opens an alert when the temperature of a sample is too high, and resolves the alert with the first sample that is not too hot. Positive
// action: alert activation. Negative action: alert resolution.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.temperature > 30
