// A device in Node.js, with the package @waypost/sdk (docs/guides/sdk.md), over HTTP or MQTT.
//   node examples/sdk/device.mjs <application version> <endpoint token> [http://127.0.0.1:8080 or mqtt://127.0.0.1:1883]
// Sends a sample every five seconds, answers commands, applies configurations and installs software until Ctrl-C.
import { createHash } from 'node:crypto'
import { connect } from '@waypost/sdk/device'

const [version, token, url = 'http://127.0.0.1:8080'] = process.argv.slice(2)
const device = await connect({
  url,
  version,
  token,
  onConnected: () => console.log('connected'),
  onOffline: ({ message }) => console.log(message),
  onError: (error) => console.log(error.message),
  onCommand({ id, type, payload }) {
    console.log(`command ${id}: ${type} ${JSON.stringify(payload)}`)
    return 'done by the SDK'
  },
  onConfiguration: ({ config }) => console.log(`applied ${JSON.stringify(config)}`),
  async onSoftware({ version, config, download }) {
    if (config?.link) {
      const hash = createHash('sha256')
      const file = await download()
      // The SDK continues a broken download; a real device writes the bytes to its flash memory.
      for await (const bytes of file) hash.update(bytes)
      if (file.digest !== `sha-256=:${hash.digest('base64')}:`) throw new Error('wrong checksum')
    }
    console.log(`installed ${version}`)
  },
})
// The platform offers software only to devices that have reported their version.
await device.reportSoftware('1.0.0')

async function sendSample() {
  try {
    await device.sample({ temperature: Number((20 + Math.random() * 5).toFixed(2)), battery: 87 })
    console.log('the sample is stored')
  } catch (error) {
    console.log(`rejected: ${error.message}`)
  }
}
await sendSample()
const timer = setInterval(sendSample, 5000)
process.on('SIGINT', async () => {
  clearInterval(timer)
  await device.close()
  process.exit()
})
