// Computes the distance between two places on the globe, in metres, and opens an alert outside of a circle.
const home = { latitude: 50.4501, longitude: 30.5234 }
const [position] = ctx.trigger.endpointDataSamplesReceived.dataSamples
const radians = (degrees) => (degrees * Math.PI) / 180
const dLatitude = radians(position.latitude - home.latitude)
const dLongitude = radians(position.longitude - home.longitude)
const a =
  Math.sin(dLatitude / 2) ** 2 +
  Math.cos(radians(home.latitude)) * Math.cos(radians(position.latitude)) * Math.sin(dLongitude / 2) ** 2
ctx.data.metres = Math.round(2 * 6371000 * Math.asin(Math.sqrt(a)))
return ctx.data.metres > 500
