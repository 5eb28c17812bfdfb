// GlobalSat LS-11x: measures temperature, humidity, and one of carbon dioxide (LS-111), carbon monoxide (LS-112) and fine dust (LS-113).
function decodeUplink(input) {
  const view = new DataView(Uint8Array.from(input.bytes).buffer)
  const names = { 1: 'co2', 2: 'co', 3: 'pm25' }
  const [gas] = input.bytes
  if (!names[gas]) return { errors: ['unknown device type'] }
  return {
    data: {
      temperature: view.getInt16(1) / 100,
      humidity: view.getInt16(3) / 100,
      [names[gas]]: view.getUint16(5),
    },
  }
}
