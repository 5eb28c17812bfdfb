// A device in Node.js, with the package mqtt (npm install mqtt).
//   node examples/node/device.mjs <application version> <endpoint token> [mqtt://127.0.0.1:1883]
// Sends a sample every five seconds, answers commands, applies configurations and installs software until Ctrl-C.
import { createHash } from 'node:crypto'
import mqtt from 'mqtt'

const [version, token, url = 'mqtt://127.0.0.1:1883'] = process.argv.slice(2)
const topic = (extension, path) => `kp1/${version}/${extension}/${token}/${path}`
const client = mqtt.connect(url)
let requestId = 0
let software = '1.0.0'

function sendSample() {
  const sample = { temperature: Number((20 + Math.random() * 5).toFixed(2)), battery: 87 }
  client.publish(topic('dcx', `json/${++requestId}`), JSON.stringify(sample), { qos: 1 })
}

client.on('connect', () => {
  console.log('connected')
  sendSample()
  // The platform offers software only to devices that have reported their version.
  reportApplied('cmx_ota', { configId: software, statusCode: 200 })
})
setInterval(() => client.connected && sendSample(), 5000)

// No subscription is needed: the platform pushes responses and commands to this connection.
client.on('message', (name, payload) => {
  const [, , extension, , ...path] = name.split('/')
  if (path.at(-1) === 'error') console.log(`rejected: ${payload}`)
  else if (extension === 'dcx') console.log(`sample ${path.at(-2)} is stored`)
  else if (extension === 'cex' && path[0] === 'command') answer(path[1], JSON.parse(payload))
  else if (extension === 'cmx') configure(JSON.parse(payload))
  else if (extension === 'cmx_ota') update(JSON.parse(payload))
})

function answer(type, commands) {
  const results = commands.map(({ id, payload }) => {
    console.log(`command ${id}: ${type} ${JSON.stringify(payload)}`)
    return { id, statusCode: 200, payload: 'done by Node.js' }
  })
  client.publish(topic('cex', `result/${type}`), JSON.stringify(results), { qos: 1 })
}

function reportApplied(extension, report) {
  client.publish(topic(extension, 'applied/json'), JSON.stringify(report), { qos: 1 })
}

function configure({ configId, config }) {
  console.log(`applied ${JSON.stringify(config)}`)
  reportApplied('cmx', { configId, statusCode: 200 })
}

async function update({ configId, config }) {
  try {
    if (config.link) await download(config.link)
    software = configId // a real device would install the software and restart
    console.log(`installed ${configId}`)
    reportApplied('cmx_ota', { configId, statusCode: 200 })
  } catch (error) {
    reportApplied('cmx_ota', { configId, statusCode: 500, reasonPhrase: error.message })
  }
}

/** Downloads the file, continues a broken download where it ended, and compares the content with its SHA-256. */
async function download(link) {
  const hash = createHash('sha256')
  let received = 0
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(link, { headers: received > 0 ? { range: `bytes=${received}-` } : {} })
    if (response.status !== (received > 0 ? 206 : 200))
      throw new Error(`the download was answered with ${response.status}`)
    try {
      for await (const bytes of response.body) {
        hash.update(bytes) // a real device also writes the bytes to its flash memory
        received += bytes.length
      }
    } catch (error) {
      if (attempt === 5) throw error
      continue
    }
    if (response.headers.get('repr-digest') !== `sha-256=:${hash.digest('base64')}:`) throw new Error('wrong checksum')
    return
  }
}

client.on('error', (error) => console.log(error.message))
process.on('SIGINT', () => client.end(false, () => process.exit()))
