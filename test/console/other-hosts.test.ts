import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openBrowser } from '../harness/browser.ts'
import { afterAllTests } from '../harness/database.ts'
import { takeRefused } from '../harness/refusing-proxy.ts'

test('the browser of the tests can reach only this machine, and each request to another host is recorded, even from a worker', async () => {
  const script = `new SharedWorker('/worker.js').port.onmessage = ({ data }) => (document.title = data)`
  const worker = `onconnect = ({ ports: [port] }) => fetch('http://worker.example/', { mode: 'no-cors' })
    .then(({ type }) => port.postMessage(type), () => port.postMessage('refused'))`
  const server = createServer(({ url }, response) => {
    const isWorker = url === '/worker.js'
    response.setHeader('content-type', isWorker ? 'text/javascript' : 'text/html')
    response.end(isWorker ? worker : `<img src="https://image.example/a.png"><script>${script}</script>`)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(() => {
    server.close()
    server.closeAllConnections()
  })
  const browser = await openBrowser()
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await page.waitForFunction('document.title !== ""')
  assert.deepEqual(new Set(takeRefused()), new Set(['CONNECT image.example:443', 'GET http://worker.example/']))
})
