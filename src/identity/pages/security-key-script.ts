/**
 * The script of pages that use a security key. It reads the WebAuthn options of the form (`data-options`, JSON), and writes the response of
 * the browser into the form field `credential`. The script is constant, because the content security policy contains its hash.
 */
export const securityKeyScript = `
(() => {
  const form = document.getElementById('security-key')
  const options = JSON.parse(form.dataset.options)
  const fromBase64Url = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0))
  const toBase64Url = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '')
  const decodeIds = (credentials) =>
    credentials && credentials.map((credential) => ({ ...credential, id: fromBase64Url(credential.id) }))
  async function requestCredential() {
    const publicKey = {
      ...options,
      challenge: fromBase64Url(options.challenge),
      allowCredentials: decodeIds(options.allowCredentials),
      excludeCredentials: decodeIds(options.excludeCredentials),
    }
    if (!options.user) return navigator.credentials.get({ publicKey })
    publicKey.user = { ...options.user, id: fromBase64Url(options.user.id) }
    return navigator.credentials.create({ publicKey })
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    requestCredential().then(
      ({ id, rawId, type, response: buffers }) => {
        const response = {}
        for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
          if (buffers[name]) response[name] = toBase64Url(buffers[name])
        if (buffers.getTransports) response.transports = buffers.getTransports()
        form.elements.credential.value =
          JSON.stringify({ id, rawId: toBase64Url(rawId), type, response, clientExtensionResults: {} })
        form.submit()
      },
      () => { document.getElementById('key-problem').hidden = false },
    )
  })
})()
`
