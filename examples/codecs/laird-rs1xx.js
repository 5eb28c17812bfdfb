// Laird Sentrius RS1xx: temperature and humidity.
let decodeUplink = (input) => {
  const [type, options, humidityFraction, humidity, temperatureFraction, temperature, battery] = input.bytes
  if (type !== 1) return { errors: [`message type ${type} is not supported`] }
  const levels = ['0-5%', '5-20%', '20-40%', '40-60%', '60-80%', '80-100%']
  return {
    data: {
      options,
      humidity: humidity + humidityFraction / 100,
      temperature: ((temperature << 24) >> 24) + temperatureFraction / 100,
      battery: levels[battery] || 'unknown',
    },
  }
}
