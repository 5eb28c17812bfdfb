// Talkpool OY1100: temperature and humidity in 12 bits each.
function Decoder(bytes, port) {
  if (port !== 2) return {}
  return {
    temperature: ((bytes[0] << 4 | (bytes[2] & 0xf0) >> 4) - 800) / 10,
    humidity: ((bytes[1] << 4 | (bytes[2] & 0x0f)) - 250) / 10,
  }
}

function Encoder(object, port) {
  return [object.interval >> 8, object.interval & 0xff]
}
