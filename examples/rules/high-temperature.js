// Opens an alert when a sample is too hot, and resolves it with the first sample that is not.
// Positive action: alert activation. Negative action: alert resolution.
const [sample] = ctx.trigger.endpointDataSamplesReceived.dataSamples
return sample.temperature > 30
